extension JSONText {
    package mutating func installStep(_ step: InstallStep) {
        object {
            switch step {
            case .file(let path, let change):
                $0.field("step", "file")
                $0.field("path", path)
                $0.field("change", change.rawValue)
            case .crontab(let change):
                $0.field("step", "crontab")
                $0.field("change", change.rawValue)
            case .command(let line, let failure):
                $0.field("step", "command")
                $0.field("command", line)
                $0.field("ok", failure == nil)
                $0.field("detail", failure)
            case .advice(let why, let line):
                $0.field("step", "advice")
                $0.field("command", line)
                $0.field("detail", why)
            }
        }
    }

    package mutating func installText(_ text: InstallText) {
        object {
            $0.field("step", text.path == nil ? "crontab" : "file")
            $0.field("path", text.path)
            $0.field("text", text.text)
        }
    }
}
