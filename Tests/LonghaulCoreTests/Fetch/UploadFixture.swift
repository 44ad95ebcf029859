@testable import LonghaulCore
@testable import LonghaulModel

/// Uploads as they are begun and judged in tests.
extension UploadState {
    init(_ progress: UploadProgress, source: SourceVersion? = nil, mayHaveArrived: Bool = false) {
        self.init()
        self.progress = progress
        self.source = source
        self.mayHaveArrived = mayHaveArrived
    }

    /// - Parameter request: Names the version of its file, unless the state does.
    func conversation(
        _ request: TransferRequest, offset: Int64 = 0, of transfer: Int64 = 1
    ) throws -> any UploadConversation {
        let job = UploadJob(request, self, TransferID(rawValue: transfer))
        guard let job else { throw CancellationError() }
        return conversation(job, offset: offset)
    }

    var s3: S3Upload.Kept {
        get {
            guard case .s3(let kept) = progress else { return S3Upload.Kept() }
            return kept
        }
        set { progress = .s3(newValue) }
    }
}

extension UploadConversation {
    /// The state after what was judged.
    var state: UploadState {
        var state = UploadState(progress)
        state.adopt(self)
        return state
    }
}

extension TransferRequest {
    /// An upload of a file of that version.
    init(uploadTo url: String, _ source: SourceVersion, _ options: UploadOptions = .init()) {
        self.init(url: url, destination: .file("/f"))
        self.options.upload = options
        self.options.upload?.source = source
    }
}

extension UploadProgress {
    /// The resource of a resumable protocol.
    static func at(
        _ spoken: SpokenUploads, _ address: String, sentBound: Int64 = 0, mustAsk: Bool = false
    ) -> UploadProgress {
        guard let version = DraftVersion(spoken) else {
            return .tus(TusUpload.Kept(at: address, sentBound: sentBound, mustAsk: mustAsk))
        }
        return .draft(
            DraftUpload.Kept(version, at: address, sentBound: sentBound, mustAsk: mustAsk))
    }
}

extension UploadDiscovery.Kept {
    /// The server is asked for that version of the draft.
    init(asking version: DraftVersion) {
        self.init()
        draftToAsk = version
    }
}
