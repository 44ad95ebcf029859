/// Makes system calls of a command fail, or take long: what ``LonghaulHome/through(_:)`` takes.
package enum Strace {
    package static var isInstalled: Bool { InstalledProgram.find("strace") != nil }

    /// Kills a command right before the call of that number, of those on these files or all.
    package static func kill(
        before call: String, _ number: Int, on paths: [String] = []
    ) -> [String] {
        // A call that seccomp lets through is not counted where only a signal is to come.
        [InstalledProgram.find("strace") ?? "", "-f", "-qq", "-o", "/dev/null"]
            + paths.flatMap { ["-P", $0] }
            + ["-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(number)"]
    }

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
