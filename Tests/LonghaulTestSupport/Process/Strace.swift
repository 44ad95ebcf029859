/// Makes system calls of a command fail or delay: arguments for ``LonghaulHome/through(_:)``.
package enum Strace {
    package static var isInstalled: Bool { InstalledProgram.find("strace") != nil }

    /// Kills a command right before the call with that number, counting calls on these files or
    /// all.
    package static func kill(
        before call: String, _ number: Int, on paths: [String] = []
    ) -> [String] {
        // Without --seccomp-bpf, which does not count a call if only a signal is to be injected.
        [InstalledProgram.find("strace") ?? "", "-f", "-qq", "-o", "/dev/null"]
            + paths.flatMap { ["-P", $0] }
            + ["-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(number)"]
    }

    /// - Parameters:
    ///   - injection: in the form of strace(1) after `inject=CALL:`.
    ///   - paths: only calls on these files, or with these names; none = all.
    package static func inject(
        _ calls: String, _ injection: String, on paths: [String] = []
    ) -> [String] {
        [InstalledProgram.find("strace") ?? "", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"]
            + paths.flatMap { ["-P", $0] }
            + ["-e", "trace=\(calls)", "-e", "inject=\(calls):\(injection)"]
    }
}
