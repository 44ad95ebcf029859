internal import LonghaulCore
internal import LonghaulPlatform

/// The programs that check signatures: gpgv, sqv, minisign, signify.
enum SignatureProgram {
    /// The bytes of a public key.
    ///
    /// - Throws: `LonghaulError` `invalidRequest` when there is no such file; `permission`, `io`.
    static func key(_ path: String) throws(LonghaulError) -> [UInt8] {
        do throws(SystemFailure) {
            if let key = try TextFile.read(path) { return key }
        } catch {
            throw error.longhaulError()
        }
        throw LonghaulError(.invalidRequest, "there is no key \(path)")
    }

    /// - Throws: `LonghaulError` `invalidManifest` for a wrong signature; `unsupported` when no
    ///   program that can check it is installed.
    static func check(
        _ signature: SignatureCheck, key: String, in directory: String
    ) throws(LonghaulError) {
        let base = PathParts.join(PathParts.join(directory, "bundles"), "signature")
        let files = SignatureCheck.Files(
            key: base + ".key", data: base + ".data", signature: base + ".sig")
        defer {
            for path in [files.key, files.data, files.signature] { SpooledFile.remove(path) }
        }
        let bytes = try self.key(key)
        let written: [(String, [UInt8]?)] = [
            (files.key, signature.form == .openPGP ? SignatureCheck.binaryKey(bytes) : bytes),
            (files.data, signature.data), (files.signature, signature.signature),
        ]
        let commands = signature.commands(files)
        do throws(SystemFailure) {
            for case (let path, let bytes?) in written { try PlacedFile().write(bytes, to: path) }
            for command in commands {
                if let isRight = try isRight(command) {
                    if isRight { return }
                    break
                }
            }
        } catch {
            throw error.longhaulError()
        }
        let programs = commands.compactMap(\.first)
        if !programs.contains(where: { find($0) != nil }) {
            throw LonghaulError(
                .unsupported,
                "the signature of the list cannot be checked: install "
                    + programs.joined(separator: " or "))
        }
        throw LonghaulError(
            .invalidManifest,
            "the list is not signed by \(key); its files are not fetched")
    }

    /// `nil` = the program is not installed.
    private static func isRight(_ command: [String]) throws(SystemFailure) -> Bool? {
        guard let program = command.first.flatMap(find) else { return nil }
        return try ProgramRun.run(
            program, Array(command.dropFirst()), environment: Environment.all()
        ).status == 0
    }

    private static func find(_ name: String) -> String? {
        ProgramRun.find(name, environment: Environment.all())
    }
}
