package import Longhaul
internal import LonghaulPlatform

/// The directories below which requests over HTTP may name files. Links do not lead out, and no
/// name begins with a dot: programs run what lies in `.profile`, `.ssh` or `.config`.
struct AllowedDirectories: Sendable {
    /// Absolute, without links.
    private let roots: [String]
    /// The same as they were given.
    private let given: [String]

    /// The directories themselves.
    var all: [String] { roots }

    /// The first one is where files go that name no directory.
    let first: String

    init(_ directories: [String]) {
        precondition(!directories.isEmpty, "the directory in which it was started is one")
        given = directories
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
        let real = DiskSpace.realPath(path)
        guard path.isAbsolutePath, !PathParts.names(in: path).contains(".."),
            let names = Self.names(in: real, below: roots)
        else {
            throw LonghaulError(
                .notPermitted,
                "\(path) is not below \(roots.joined(separator: " or ")); `serve.directories` of "
                    + "the configuration file allows others")
        }
        // A link may have a hidden name itself, or lead to one.
        let asked = Self.names(in: path, below: given + roots) ?? PathParts.names(in: path)
        if (names + asked).contains(where: { $0.utf8.first == UInt8(ascii: ".") && $0 != "." }) {
            throw LonghaulError(
                .notPermitted, "\(path): over HTTP no name may begin with a dot")
        }
    }

    /// The names in a path after the one of the directories that holds it; `nil` = none does.
    private static func names(in path: String, below directories: [String]) -> [String]? {
        let names = PathParts.names(in: path)
        for directory in directories {
            let above = PathParts.names(in: directory)
            if names.starts(with: above, by: { $0.utf8.elementsEqual($1.utf8) }) {
                return Array(names.dropFirst(above.count))
            }
        }
        return nil
    }
}

/// The directory that is served unless the configuration file names others.
package enum StartDirectory {
    /// The current directory. But a home directory, or one that holds it, is full of files that
    /// programs run and trust; the user's directory for downloads is served instead, and created.
    ///
    /// - Throws: `conflict` where there is no such directory.
    package static func choose(
        from current: String, environment: [String: String]
    ) throws(LonghaulError) -> String {
        let home = UserDirectories.home(environment: environment).map(DiskSpace.realPath)
        func holdsHome(_ path: String) -> Bool {
            let names = PathParts.names(in: DiskSpace.realPath(path))
            return names.isEmpty
                || home.map { PathParts.names(in: $0) }?.starts(with: names) ?? false
        }
        if !holdsHome(current) { return current }
        guard let downloads = UserDirectories.downloads(environment: environment),
            !holdsHome(downloads)
        else {
            throw LonghaulError(
                .conflict,
                "\(current) is served only where `serve.directories` of the configuration file "
                    + "names it")
        }
        do {
            _ = try DirectoryHandle.creating(downloads)
        } catch {
            throw error.longhaulError()
        }
        return downloads
    }
}
