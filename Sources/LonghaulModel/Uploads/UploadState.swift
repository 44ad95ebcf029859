/// State of an upload besides the offset that the server has acknowledged (``FetchState/durable``).
/// A part of the fetch's row.
package struct UploadState: Hashable, Sendable {
    /// The version that was sent so far; `nil` = that of the request.
    package var source: SourceVersion?
    /// The digest that the source was found to have, in the version that is sent.
    package var checked: Checksum?
    /// The server may have the whole file in a request whose answer is unknown.
    package var mayHaveArrived = false
    /// The file is followed, and not complete; `false` = it was followed, and is complete. `nil` =
    /// it is not followed.
    package var isGrowing: Bool?
    package var progress = UploadProgress.discovery(UploadDiscovery.Kept())

    package init() {}

    /// The request may not be made twice, and may have been made.
    package func forbids(_ exchange: UploadExchange) -> Bool {
        exchange.purpose == .whole && mayHaveArrived && !exchange.body.mayRepeat
    }
}

/// An upload's kept state, by protocol.
package enum UploadProgress: Hashable, Sendable {
    /// The server is still to be asked for its protocol.
    case discovery(UploadDiscovery.Kept)
    case plain(PlainUpload.Kept)
    case draft(DraftUpload.Kept)
    case tus(TusUpload.Kept)
    case s3(S3Upload.Kept)
    case remoteFile(RemoteFileUpload.Kept)
}

/// The kept state of an upload in one protocol, in the fetch's row. The names of stored properties
/// are keys of the stored JSON.
package protocol KeptProgress: Hashable, Codable, Sendable {
    /// The resource at the server that takes the bytes. Committed before any byte is sent to it.
    var address: String? { get }
    /// No byte at or after this offset has been sent to the address. Committed before the bytes go
    /// out: after a crash the kernel still delivers some of them. Without an address the bytes went
    /// out in a request of the whole file (``Candidate/isUnresumable``, read in SQL).
    var sentBound: Int64 { get }
    /// The server's offset is unknown: it is asked before other requests are sent.
    var mustAsk: Bool { get }
}

extension KeptProgress {
    package var address: String? { nil }
    package var sentBound: Int64 { 0 }
    package var mustAsk: Bool { false }
}

// MARK: - Protocols

extension UploadProgress {
    /// Protocol used before the server has been asked; `nil` = it is to be asked.
    ///
    /// - Parameter known: The origin's earlier protocol.
    package static func start(_ job: UploadJob, known: SpokenUploads?) -> UploadProgress? {
        if RemoteFile(job.request.url) != nil { return .remoteFile(RemoteFileUpload.Kept()) }
        if job.options.formField != nil { return .plain(PlainUpload.Kept()) }
        switch job.options.uploadProtocol {
        case .put, .post: return .plain(PlainUpload.Kept())
        case .s3: return .s3(S3Upload.Kept())
        case .tus: return TusUpload.start(known: known)
        // A plain server takes a guess for a whole file.
        case .auto where job.isGrowing: return nil
        case .ietf, .auto: return UploadDiscovery.start(job.options, known: known)
        }
    }

    package var kept: any KeptProgress {
        switch self {
        case .discovery(let kept): kept
        case .plain(let kept): kept
        case .draft(let kept): kept
        case .tus(let kept): kept
        case .s3(let kept): kept
        case .remoteFile(let kept): kept
        }
    }

    fileprivate func conversation(_ standing: UploadStanding) -> any UploadConversation {
        switch self {
        case .discovery(let kept): UploadDiscovery(standing: standing, kept: kept)
        case .plain(let kept): PlainUpload(standing: standing, kept: kept)
        case .draft(let kept): DraftUpload(standing: standing, kept: kept)
        case .tus(let kept): TusUpload(standing: standing, kept: kept)
        case .s3(let kept): S3Upload(standing: standing, kept: kept)
        case .remoteFile(let kept):
            if let file = RemoteFile(standing.job.request.url) {
                RemoteFileUpload(standing: standing, kept: kept, file: file)
            } else {
                // The URL has changed, and the upload restarts there.
                UploadDiscovery(standing: standing, kept: UploadDiscovery.Kept())
            }
        }
    }
}

extension UploadState {
    /// The resource at the server that takes the bytes.
    package var address: String? { progress.kept.address }

    /// - Parameter offset: Offset that the server has acknowledged.
    package func conversation(_ job: UploadJob, offset: Int64) -> any UploadConversation {
        progress.conversation(
            UploadStanding(job: job, offset: offset, mayHaveArrived: mayHaveArrived))
    }

    /// Adopts the state of the conversation.
    package mutating func adopt(_ conversation: any UploadConversation) {
        assert(conversation.standing.offset >= 0, "a server has no fewer bytes than none")
        mayHaveArrived = conversation.standing.mayHaveArrived
        progress = conversation.standing.successor ?? conversation.progress
    }

    /// The protocol is known before the server has been asked.
    ///
    /// - Parameter known: The origin's earlier protocol.
    package mutating func start(_ job: UploadJob, known: SpokenUploads?) {
        guard case .discovery(let kept) = progress else { return }
        let known = kept.mustDiscover ? nil : known
        progress = UploadProgress.start(job, known: known) ?? progress
    }
}

// MARK: - Stored form

/// A flat object: the name of the protocol, and beside it the protocol's state.
extension UploadState: Codable {
    private enum Key: String, CodingKey { case source, checked, mayHaveArrived, isGrowing }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        source = try values.decodeIfPresent(SourceVersion.self, forKey: .source)
        checked = try values.decodeIfPresent(Checksum.self, forKey: .checked)
        mayHaveArrived = try values.decode(Bool.self, forKey: .mayHaveArrived)
        isGrowing = try values.decodeIfPresent(Bool.self, forKey: .isGrowing)
        progress = try UploadProgress(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encodeIfPresent(source, forKey: .source)
        try values.encodeIfPresent(checked, forKey: .checked)
        try values.encode(mayHaveArrived, forKey: .mayHaveArrived)
        try values.encodeIfPresent(isGrowing, forKey: .isGrowing)
        try progress.encode(to: encoder)
    }
}

extension UploadProgress: Codable {
    private enum Key: String, CodingKey { case name = "dialect" }

    private enum Name: String, Codable { case plain, ietf9, ietf8, ietf6, tus, s3, remoteFile }

    /// `nil` = none is spoken yet.
    private var name: Name? {
        switch self {
        case .discovery: nil
        case .plain: .plain
        case .draft(let kept): Name(rawValue: kept.version.rawValue)
        case .tus: .tus
        case .s3: .s3
        case .remoteFile: .remoteFile
        }
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        switch try values.decodeIfPresent(Name.self, forKey: .name) {
        case nil: self = .discovery(try UploadDiscovery.Kept(from: decoder))
        case .plain: self = .plain(try PlainUpload.Kept(from: decoder))
        case .ietf9, .ietf8, .ietf6: self = .draft(try DraftUpload.Kept(from: decoder))
        case .tus: self = .tus(try TusUpload.Kept(from: decoder))
        case .s3: self = .s3(try S3Upload.Kept(from: decoder))
        case .remoteFile: self = .remoteFile(try RemoteFileUpload.Kept(from: decoder))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encodeIfPresent(name, forKey: .name)
        try kept.encode(to: encoder)
    }
}
