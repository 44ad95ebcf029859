internal import Longhaul
internal import LonghaulPlatform

/// The directories below which requests over HTTP may name files. Links do not lead out.
struct AllowedDirectories: Sendable {
    /// Absolute, without links.
    private let roots: [String]

    /// The first one is where files go that name no directory.
    let first: String

    init(_ directories: [String]) {
        precondition(!directories.isEmpty, "the directory in which it was started is one")
        roots = directories.map(DiskSpace.realPath)
        first = roots[0]
    }

    /// - Throws: `notPermitted` when a file that the request names lies elsewhere.
    func check(_ request: TransferRequest) throws(LonghaulError) {
        switch request.destination {
        case .file(let path): try check(path)
        case .directory(let path, _): try check(path)
        }
        try checkFields(request)
    }

    /// The files of a change.
    func check(_ change: TransferChange) throws(LonghaulError) {
        if let path = change.destination { try check(path) }
        try checkFields(change.fields.request)
    }

    private func checkFields(_ request: TransferRequest) throws(LonghaulError) {
        for field in RequestField.all where field.placeholder == "file" {
            if case .text(let path) = field.value(request) { try check(path) }
        }
    }

    func check(_ path: String) throws(LonghaulError) {
        let isPlain = path.isAbsolutePath && !PathParts.names(in: path).contains("..")
        if isPlain {
            let real = DiskSpace.realPath(path)
            for root in roots where root == "/" || real == root || real.hasPrefix(root + "/") {
                return
            }
        }
        throw LonghaulError(
            .notPermitted,
            "\(path) is not below \(roots.joined(separator: " or ")); `serve.directories` of the "
                + "configuration file allows others")
    }
}
