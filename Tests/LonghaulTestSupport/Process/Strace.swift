/// Makes system calls of a command fail, or take long: what ``LonghaulHome/through(_:)`` takes.
package enum Strace {
    package static var isInstalled: Bool { InstalledProgram.find("strace") != nil }

    /// - Parameters:
    ///   - injection: As strace(1) has it after `inject=CALL:`.
    ///   - paths: Only calls on these files, or with these names; none = all.
    package static func inject(
        _ calls: String, _ injection: String, on paths: [String] = []
    ) -> [String] {
        [InstalledProgram.find("strace") ?? "", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"]
            + paths.flatMap { ["-P", $0] }
            + ["-e", "trace=\(calls)", "-e", "inject=\(calls):\(injection)"]
    }
}
