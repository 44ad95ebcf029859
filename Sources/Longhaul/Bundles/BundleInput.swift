internal import LonghaulCore
internal import LonghaulPlatform

extension Bundles {
    /// Keeps a list that comes on standard input, and returns its path.
    ///
    /// - Throws: `LonghaulError` `io`, `noSpace`.
    package func keepInput() throws(LonghaulError) -> String {
        do throws(SystemFailure) {
            let bytes = try TextFile.readStandardInput()
            let directory = PathParts.join(queue.directory, "bundles")
            let incoming = PathParts.join(directory, "list-\(ProcessIdentity.current.pid)")
            try PlacedFile.write(bytes, to: incoming)
            defer { SpooledFile.remove(incoming) }
            let digest = try PlacedFile.read(incoming, atMost: .max).sha256
            // The same list is the same source.
            let path = PathParts.join(directory, "list-\(digest).jsonl")
            try PlacedFile.write(bytes, to: path)
            return path
        } catch {
            throw error.longhaulError()
        }
    }
}
