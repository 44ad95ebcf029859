/// Makes system calls of a command fail, or take long: what ``LonghaulHome/through(_:)`` takes.
package enum Strace {
    package static var isInstalled: Bool { InstalledProgram.find("strace") != nil }

    /// - Parameters:
    ///   - injection: As strace(1) has it after `inject=CALL:`.
    ///   - path: Only calls on this file, or with this name.
    package static func inject(
        _ calls: String, _ injection: String, on path: String? = nil
    ) -> [String] {
        [InstalledProgram.find("strace") ?? "", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"]
            + (path.map { ["-P", $0] } ?? [])
            + ["-e", "trace=\(calls)", "-e", "inject=\(calls):\(injection)"]
    }
}
