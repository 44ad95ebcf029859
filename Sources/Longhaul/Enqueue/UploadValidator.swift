internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// The sizes of parts that S3 takes (Amazon S3 User Guide, "Multipart upload limits").
private let uploadPartBytes: ClosedRange<Int64> = 5 << 20...5 << 30

/// Checks requests for uploads, and pins the version of the file.
enum UploadValidator {
    /// Completes the URL: the file's name is appended to the URL of a directory. A request to S3
    /// also gets the HTTP URL of the object, and the keys that sign its requests.
    static func located(_ request: TransferRequest) throws(LonghaulError) -> TransferRequest {
        let upload = request.options.upload
        guard upload?.uploadProtocol == .s3 || request.url.beginsIgnoringCase(with: "s3:") else {
            return UploadPlace.named(request)
        }
        if let upload { try checkTakesS3(upload) }
        // A watched folder has found the bucket and the keys.
        if request.options.s3 != nil { return UploadPlace.named(request) }
        return UploadPlace.named(try S3Location().located(request))
    }

    static func checkTakesS3(_ upload: UploadOptions) throws(LonghaulError) {
        switch upload.uploadProtocol {
        case .s3, .auto: return
        case .put, .post, .ietf, .tus:
            throw LonghaulError(.invalidRequest, "an s3: URL needs the protocol s3")
        }
    }

    /// Refuses options that an upload may not have, when it is recorded and when it is changed.
    static func check(
        _ upload: UploadOptions, of request: TransferRequest, to url: URLParts
    ) throws(LonghaulError) {
        try check(upload, to: url)
        if let defect = request.followDefect { throw LonghaulError(.invalidRequest, defect) }
        for field in RequestField.downloadOnly where !field.isDefault(in: request) {
            throw LonghaulError(.invalidRequest, "\(field.key) applies to downloads only")
        }
    }

    static func admit(
        _ request: TransferRequest, _ upload: UploadOptions, to url: URLParts
    ) throws(LonghaulError) -> NewTransfer {
        guard case .file(let path) = request.destination else {
            throw LonghaulError(.invalidRequest, "an upload sends one file; name it")
        }
        try check(upload, of: request, to: url)
        let source = try CurrentDirectory.absolute(path)
        var request = request
        request.destination = .file(source)
        // Bytes from standard input exist in the snapshot only.
        let spool = source == UploadPlace.standardInput ? upload.snapshotPath : nil
        let version = try version(of: spool ?? source)
        var upload = upload
        upload.source =
            try upload.snapshotPath.map { path throws(LonghaulError) in
                try self.version(of: path)
            } ?? version
        if upload.snapshot, upload.snapshotPath == nil {
            throw LonghaulError(
                .unsupported,
                "snapshots are made for requests that are enqueued together, not one by one")
        }
        if upload.formField != nil || upload.uploadProtocol == .post { upload.method = .post }
        if upload.uploadProtocol == .put { upload.method = .put }
        let name = spool == nil ? PathParts.split(source)?.name : FileNaming.name(from: url)
        upload.source?.mediaType = name.flatMap(MediaTypes.system.type)
        request.expectedBytes = upload.ifChanged == .follow ? nil : upload.source?.size
        request.options.upload = upload
        var new = NewTransfer(
            request: request, origin: url.origin, source: source,
            reservation: reservation(request, upload, source, version))
        if let path = upload.snapshotPath,
            case .present(let identity, _) = FileInspection.entry(at: path)
        {
            new.snapshot = OrphanedPart(path: path, identity: identity)
        }
        return new
    }

    /// The file that the upload follows is complete as it is now.
    static func endGrowth(of request: inout TransferRequest) throws(LonghaulError) {
        guard var upload = request.options.upload, upload.ifChanged == .follow,
            case .file(let path) = request.destination
        else {
            throw LonghaulError(
                .invalidRequest, "only the file of an upload with --follow can be completed")
        }
        let mediaType = upload.source?.mediaType
        upload.ifChanged = .fail
        upload.settle = nil
        upload.source = try version(of: path)
        upload.source?.mediaType = mediaType
        request.options.upload = upload
    }

    private static func version(of path: String) throws(LonghaulError) -> SourceVersion {
        do throws(SystemFailure) {
            return try SourceFile.version(at: path)
        } catch {
            throw refusal(error, path)
        }
    }

    /// An upload that names its place has the same text for each version of the file. Where each
    /// request creates a separate resource, the version is a part of the text.
    private static func reservation(
        _ request: TransferRequest, _ upload: UploadOptions, _ source: String,
        _ version: SourceVersion
    ) -> Reservation {
        // A file that is followed is the same one with more bytes.
        let version = upload.ifChanged == .follow ? "follow" : version.text
        let way = "\(upload.uploadProtocol.rawValue) \(upload.method?.rawValue ?? "")"
        // A random line makes a separate upload differ from all others.
        let own = request.options.onDuplicate == .separate ? "\(UInt64.random(in: 0 ... .max))" : ""
        var lines = [own, request.session, way, upload.formField ?? "", source, request.url]
        if let fields = upload.formFields {
            // A number: the values are secrets, and this text is kept.
            var hash = FNV1a()
            for field in fields { hash.mix("\(field.name)=\(field.value)\n") }
            lines.append("\(hash.value)")
        }
        if upload.namesItsPlace {
            return Reservation(lines.joined(separator: "\n"), version: version)
        }
        lines.append(version)
        return Reservation(lines.joined(separator: "\n"))
    }

    private static func check(
        _ upload: UploadOptions, to url: URLParts
    ) throws(LonghaulError) {
        if let file = RemoteFile(url.url) { return try check(upload, to: file) }
        if upload.inPlace {
            throw LonghaulError(
                .invalidRequest, "in place is for FTP and SFTP; leave it out")
        }
        if upload.formField != nil {
            guard [.auto, .post].contains(upload.uploadProtocol), upload.method != .put else {
                throw LonghaulError(.invalidRequest, "a form is sent by POST, and not resumed")
            }
            if upload.formField == "" {
                throw LonghaulError(.invalidRequest, "the name of the form's field is empty")
            }
        }
        if upload.formFields != nil, upload.formField == nil {
            throw LonghaulError(
                .invalidRequest, "fields need a form; name the field of its file with --form")
        }
        switch (upload.uploadProtocol, upload.method) {
        case (.put, .post), (.post, .put):
            throw LonghaulError(
                .invalidRequest, "the protocol and the method contradict each other")
        case (.tus, .put):
            throw LonghaulError(.invalidRequest, "tus creates an upload by POST")
        default: break
        }
        if upload.uploadProtocol == .s3, url.query != nil || upload.method == .post {
            throw LonghaulError(
                .invalidRequest, "an upload to S3 has no query and no method of its own")
        }
        if let partSize = upload.partSize {
            let sizes =
                upload.isSigned ? uploadPartBytes : Limits.uploadPieceBytes
            if !sizes.contains(partSize) {
                throw LonghaulError(
                    .invalidRequest,
                    upload.isSigned
                        ? "a part of an upload to S3 has 5 MiB to 5 GiB"
                        : "a part of an upload has 64 KiB to 5 GiB")
            }
        }
        if let type = upload.contentType,
            (try? HeaderFields.Field(parsing: "Content-Type: \(type)")) == nil || type.isEmpty
        {
            throw LonghaulError(.invalidRequest, "the content type cannot be sent as it is")
        }
    }

    private static func check(
        _ upload: UploadOptions, to file: RemoteFile
    ) throws(LonghaulError) {
        if let problem = file.problem { throw LonghaulError(.invalidRequest, problem) }
        let isPlain =
            upload.uploadProtocol == .auto && upload.method == nil && upload.formField == nil
            && upload.contentType == nil && upload.partSize == nil && upload.formFields == nil
        if !isPlain {
            throw LonghaulError(
                .invalidRequest,
                "over FTP and SFTP a file has no protocol, method, form, type or part of its own;"
                    + " leave such options out")
        }
    }

    private static func refusal(_ failure: SystemFailure, _ source: String) -> LonghaulError {
        switch FileInspection.kind(at: source) {
        case _ where failure.isDirectory:
            LonghaulError(.invalidRequest, "\(source) is a directory; give a file")
        case _ where failure.isNameTooLong:
            LonghaulError(
                .invalidRequest, "there is no file \(source.prefix(40))…: the name is too long")
        case .link where failure.leadsNowhere:
            LonghaulError(
                .invalidRequest, "\(source) is a symbolic link to what is not there; give a file")
        case .special:
            LonghaulError(
                .invalidRequest, "\(source) is a device, a pipe or a socket, not a regular file")
        case nil where failure.leadsNowhere:
            LonghaulError(.invalidRequest, "there is no file \(source)")
        case .directory, .file, .link, nil: failure.longhaulError()
        }
    }
}

extension TransferRequest {
    /// Why its file cannot be followed; `nil` = it can, or is not to be.
    package var followDefect: String? {
        options.upload?.followDefect(
            isRemoteFile: RemoteFile(url) != nil, hasDigest: options.checksum != nil)
    }
}
