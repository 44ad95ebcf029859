internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// Destinations in one directory that are inspected one by one; from this many on the
/// directory's names are read at once.
private let namesInspectedSingly = 256
/// Directories whose check is remembered; a batch that goes to more checks again.
private let checkedDirectoriesMax = 1024
/// The longest path on Linux, in bytes: PATH_MAX without the terminating zero.
private let pathBytesMaximum = 4095

/// Checks requests before they are recorded. Facts about a directory are cached for the batch.
struct RequestValidator {
    enum Verdict {
        case insert(NewTransfer)
        case skip(String)
    }

    private struct CheckedDirectory {
        var mayHoldFiles: Bool
        var realPath: String
        var disk: MountedDisk?
        /// See ``DirectoryHandle/hasAnyName``; `nil` = no name was peculiar so far.
        var hasAnyName: Bool?
    }

    private var checked: [ExactText: CheckedDirectory] = [:]
    /// The options of the last request, which are within their bounds. The requests of a list
    /// share them.
    private var checkedOptions: CopyOnWrite<TransferOptions>?
    /// See ``TransferRequest/setDisk(_:sharing:)``.
    private var placedOptions: (CopyOnWrite<TransferOptions>, CopyOnWrite<TransferOptions>)?
    /// The directory that the batch fills, and how many destinations in it were asked about.
    private var filling: (directory: String, inspected: Int, names: DirectoryNames?) = ("", 0, nil)

    mutating func admit(_ request: TransferRequest) throws(LonghaulError) -> Verdict {
        var request = try UploadValidator.located(request)
        let url = try RequestValidator.parse(request.url)
        for mirror in request.options.mirrors { _ = try RequestValidator.parse(mirror) }
        try RequestBounds.check(
            request,
            areOptionsChecked: checkedOptions?.isSame(request.sharedOptions) ?? false)
        checkedOptions = request.sharedOptions
        if let metadata = request.options.metadata {
            let line = try RequestBounds.json(metadata, "metadata")
            // Requests with the same options share them.
            if !line.isExactly(metadata) { request.options.metadata = line }
        }
        try RequestValidator.check(request.options)
        try RequestValidator.check(request.options.secretFiles)
        try RequestValidator.checkVariables(request.options, for: url)
        try RequestValidator.check(request.deadline)
        try RequestValidator.check(earliest: request.earliestBegin)
        try RequestValidator.setZone(of: &request.schedule.windows)
        try request.deadline.check(
            earliest: request.earliestBegin.map { $0 + request.options.spread })
        if let upload = request.options.upload {
            return .insert(try UploadValidator.admit(request, upload, to: url))
        }
        var isNamedByURL = false
        if case .directory(_, let remoteName) = request.destination {
            isNamedByURL = true
            if request.options.remoteName != remoteName { request.options.remoteName = remoteName }
        }
        let (destination, exists, realPath, disk) = try inspect(
            RequestValidator.destination(of: request, url),
            isNamedByURL: isNamedByURL)
        request.setDisk(disk, sharing: &placedOptions)
        if exists, request.options.continues {
            request.options.continued = try RequestValidator.continued(destination)
        } else if exists {
            switch request.options.ifExists {
            // The server has the last word about the name.
            case .fail where request.options.remoteName: break
            case .fail:
                throw RequestValidator.occupied(destination)
            case .skip: return .skip(destination)
            case .overwrite, .rename: break
            }
        }
        return .insert(
            NewTransfer(
                request: request, origin: url.origin, destination: destination,
                realPath: realPath))
    }

    /// Windows that name no zone are meant in that of this process's user.
    static func setZone(of windows: inout TimeWindows?) throws(LonghaulError) {
        if windows == nil { return }
        if let zone = windows?.timeZone {
            _ = try ZoneFiles.checked(zone, "timeZone")
        } else {
            windows?.timeZone = try ZoneFiles.ofCaller()
        }
    }

    /// The part of a file that another program has left. A link is not followed.
    private static func continued(_ path: String) throws(LonghaulError) -> ContinuedFile {
        guard let file = FileInspection.file(at: path) else {
            guard FileInspection.kind(at: path) == .link else { throw occupied(path) }
            throw LonghaulError(
                .destinationExists,
                "\(path) is a symbolic link, and what is continued is replaced; give the path of "
                    + "the file itself with --continue")
        }
        // Only the program that keeps such a record knows which bytes of the file are there.
        for suffix in [".aria2", ".st"] where FileInspection.file(at: path + suffix) != nil {
            throw LonghaulError(
                .destinationExists,
                "\(path) is unfinished, and \(path)\(suffix) has the record of what is missing; "
                    + "let the program finish it that began it, or move both away")
        }
        return ContinuedFile(
            path: path, device: file.identity.device, inode: file.identity.inode,
            birth: file.identity.birth, size: file.size, touched: file.touched.milliseconds)
    }

    /// A file that is of no use now would fail the first attempt.
    static func check(_ files: SecretFiles) throws(LonghaulError) {
        do throws(SecretFileProblem) {
            _ = try files.secrets()
        } catch {
            throw LonghaulError(.invalidRequest, error.said)
        }
    }

    /// The absolute path that a download is to have.
    static func destination(
        of request: TransferRequest, _ url: URLParts
    ) throws(LonghaulError) -> String {
        switch request.destination {
        case .file(let path): return try file(path)
        case .directory(let path, _):
            return PathParts.join(
                try CurrentDirectory.absolute(path), FileNaming.name(from: url))
        }
    }

    /// The absolute path of a file that the user names.
    static func file(_ path: String) throws(LonghaulError) -> String {
        let destination = try CurrentDirectory.absolute(path)
        guard let last = destination.utf8.last, last != UInt8(ascii: "/") else {
            throw LonghaulError(
                .invalidRequest, "\(path) names a directory; give a file, or use -d")
        }
        return destination
    }

    /// The place of a file that the user names, for `set`; see ``admit(_:)``.
    mutating func place(
        of path: String
    ) throws(LonghaulError) -> (path: String, realPath: String?, disk: MountedDisk?) {
        let place = try inspect(RequestValidator.file(path), isNamedByURL: false)
        return (place.destination, place.realPath, place.disk)
    }

    static func occupied(_ destination: String) -> LonghaulError {
        LonghaulError(
            .destinationExists,
            "\(destination) exists; choose another name, or --if-exists skip, overwrite or rename")
    }

    static func parse(_ text: String) throws(LonghaulError) -> URLParts {
        do throws(URLProblem) {
            return try URLParts(text)
        } catch {
            if case .unsupportedScheme = error {
                throw LonghaulError(.unsupported, error.description)
            }
            throw LonghaulError(.invalidRequest, error.description)
        }
    }

    /// Checks a relative deadline, which counts from when the transfer may begin; an absolute one
    /// may have passed meanwhile.
    static func check(_ deadline: Deadline) throws(LonghaulError) {
        if case .after(let seconds) = deadline, !(seconds > 0) {
            throw LonghaulError(.invalidRequest, "a deadline is more than 0 seconds")
        }
    }

    /// A moment before 1970 is over, but for a machine whose clock was never set.
    static func check(
        earliest: Timestamp?, now: () -> Timestamp = { SystemClock.now().wall }
    ) throws(LonghaulError) {
        guard let earliest, earliest.milliseconds < 0, now() < earliest else { return }
        throw LonghaulError(
            .invalidRequest,
            "the clock of this machine says a time before 1970; set it, or leave out when the "
                + "transfer may begin")
    }

    static func check(_ options: TransferOptions) throws(LonghaulError) {
        if let proxy = options.proxy { try check(proxy: proxy) }
        for path in [options.caCertificate, options.clientCertificate, options.clientKey] {
            if let path { try checkFile(path) }
        }
    }

    /// Checks that the proxy can be used; the empty text stands for no proxy.
    static func check(proxy: String, at place: String = "") throws(LonghaulError) {
        do throws(ProxyProblem) {
            try ProxyAddress.check(proxy)
        } catch {
            throw LonghaulError(error, at: place)
        }
    }

    /// The proxy that the caller's variables name, where none is named.
    private static func checkVariables(
        _ options: TransferOptions, for url: URLParts
    ) throws(LonghaulError) {
        guard options.proxy == nil, let variables = options.proxyVariables,
            let proxy = variables.proxy(scheme: url.scheme.rawValue, host: url.host)
        else { return }
        try check(proxy: proxy, at: "\(url.scheme.rawValue)_proxy, or all_proxy: ")
    }

    /// A file that a request needs.
    static func checkFile(_ path: String) throws(LonghaulError) {
        try checkText(of: path)
        if exists(path) { return }
        throw LonghaulError(.invalidRequest, "there is no file \(path)")
    }

    /// Tells whether the destination exists, and its real path if that differs; refuses a
    /// destination that could not be written. A name chosen by the URL becomes one that the disk
    /// takes. A directory is examined once.
    private mutating func inspect(
        _ wanted: String, isNamedByURL: Bool
    ) throws(LonghaulError) -> (
        destination: String, exists: Bool, realPath: String?, disk: MountedDisk?
    ) {
        try RequestValidator.checkText(of: wanted)
        guard let (directory, wantedName) = PathParts.split(wanted) else {
            throw LonghaulError(.invalidRequest, "\(wanted) names no file")
        }
        try RequestValidator.checkLength(of: wantedName)
        try RequestValidator.checkLength(ofPath: wanted)
        let place: CheckedDirectory
        if let known = checked[ExactText(directory)] {
            place = known
        } else {
            for name in PathParts.names(in: directory) {
                try RequestValidator.checkLength(of: name)
            }
            if let obstacle = DiskSpace.obstacle(toWritingIn: directory) {
                throw RequestValidator.refusal(obstacle)
            }
            place = CheckedDirectory(
                mayHoldFiles: RequestValidator.exists(directory),
                realPath: DiskSpace.realPath(directory), disk: DiskSpace.disk(of: directory))
            if checked.count >= checkedDirectoriesMax { checked.removeAll() }
            checked[ExactText(directory)] = place
        }
        let name = try fitted(wantedName, in: directory, isNamedByURL: isNamedByURL)
        let destination =
            name.isExactly(wantedName) ? wanted : PathParts.join(directory, name)
        let realPath =
            place.realPath.isExactly(directory) ? nil : PathParts.join(place.realPath, name)
        guard place.mayHoldFiles, mayExist(name, in: directory) else {
            return (destination, false, realPath, place.disk)
        }
        return (destination, try RequestValidator.isTaken(destination), realPath, place.disk)
    }

    /// A name that the disk of the directory refuses would be refused when all bytes are there.
    private mutating func fitted(
        _ name: String, in directory: String, isNamedByURL: Bool
    ) throws(LonghaulError) -> String {
        if FileNaming.isPortable(name) { return name }
        let key = ExactText(directory)
        if checked[key]?.hasAnyName == true { return name }
        // If it cannot be opened, creating the file reports why.
        guard let place = try? DiskSpace.existing(directory) else { return name }
        checked[key]?.hasAnyName = place.hasAnyName
        guard let refusal = place.refusal(of: name) else { return name }
        let portable = FileNaming.portable(name)
        if isNamedByURL { return portable }
        let why = refusal.isNameTooLong ? "it is too long" : "it is none there"
        throw LonghaulError(
            .invalidRequest,
            "the disk of \(directory) has no files of the name \(name): \(why); choose another one,"
                + " such as \(portable)")
    }

    private static func isTaken(_ destination: String) throws(LonghaulError) -> Bool {
        switch FileInspection.entry(at: destination) {
        case .missing: return false
        case .present: return true
        case .unusable(let failure):
            if isDirectory(destination) {
                throw LonghaulError(
                    .invalidRequest, "\(destination) is a directory; give a file, or use -d")
            }
            switch FileInspection.kind(at: destination) {
            case .link, .file: return true
            // Programs use it where it is: it is neither replaced nor anything to be skipped for.
            case .special, .directory:
                throw LonghaulError(
                    .invalidRequest,
                    "\(destination) is a device, a pipe or a socket, not a regular file; "
                        + "give a file, or write to the standard output with `get -o -`")
            case nil:
                throw refusal(
                    SystemFailure(
                        operation: "stat", path: destination, errno: failure))
            }
        }
    }

    /// To the kernel a path ends there, and another one would be meant.
    private static func checkText(of path: String) throws(LonghaulError) {
        if !path.utf8.contains(0) { return }
        throw LonghaulError(
            .invalidRequest, "the path \(path) has a zero byte in it; choose another one")
    }

    /// Refuses a name too long for any file system.
    private static func checkLength(of name: String) throws(LonghaulError) {
        let length = name.utf8.count
        if length <= PathParts.nameBytesMax { return }
        throw LonghaulError(
            .invalidRequest,
            "the name \(name.prefix(20))… has \(length) bytes, and a file's has at most"
                + " \(PathParts.nameBytesMax); choose a shorter one")
    }

    /// Counts the suffix that the name carries while the file is fetched.
    private static func checkLength(ofPath path: String) throws(LonghaulError) {
        let length = path.utf8.count
        let max = pathBytesMaximum - Limits.fileNameDecorationBytes
        if length <= max { return }
        throw LonghaulError(
            .invalidRequest,
            "the path \(path.prefix(40))… has \(length) bytes, and at most \(max) can be used;"
                + " choose a shorter one")
    }

    private static func refusal(_ failure: SystemFailure) -> LonghaulError {
        var error = failure.longhaulError()
        if error.code == .io { error.code = .permission }
        return error
    }

    /// Spares a large batch a system call for each destination. What comes into being meanwhile is
    /// seen when the file is published, as it would be after a look at each.
    private mutating func mayExist(_ name: String, in directory: String) -> Bool {
        if !filling.directory.isExactly(directory) { filling = (directory, 0, nil) }
        filling.inspected += 1
        if filling.inspected == namesInspectedSingly {
            filling.names = DirectoryNames(of: directory)
        }
        return filling.names?.contains(name) ?? true
    }

    static func exists(_ path: String) -> Bool {
        FileInspection.entry(at: path) != .missing
    }

    private static func isDirectory(_ path: String) -> Bool {
        (try? DirectoryHandle(opening: path)) != nil
    }
}

/// The bounds of a transfer's options, the same for commands and programs. Values outside of them
/// are refused (`invalidRequest`) before anything is recorded.
enum RequestBounds {
    static func check(
        _ request: TransferRequest, areOptionsChecked: Bool = false
    ) throws(LonghaulError) {
        if let defect = RequestField.defect(of: request, areOptionsChecked: areOptionsChecked) {
            throw LonghaulError(.invalidRequest, defect)
        }
        if areOptionsChecked { return }
        var headerBytes = 0
        for field in request.options.headers.fields {
            if let problem = field.problem {
                throw LonghaulError(.invalidRequest, problem.description)
            }
            headerBytes += field.name.utf8.count + field.value.utf8.count
        }
        if headerBytes > Limits.requestHeaderBytes {
            throw LonghaulError(
                .invalidRequest,
                "the header fields of one request are more than \(Limits.requestHeaderBytes)"
                    + " bytes together")
        }
    }

    /// A JSON text on one line.
    ///
    /// - Parameter what: As the error names it.
    static func json(_ text: String, _ what: String) throws(LonghaulError) -> String {
        do {
            return String(decoding: try JSONScanner.compacted(text), as: UTF8.self)
        } catch {
            throw LonghaulError(.invalidRequest, "the \(what) is not valid JSON: \(error)")
        }
    }
}
