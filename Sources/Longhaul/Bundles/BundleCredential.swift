internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// The secret of a bundle's source. It goes with requests to the source's own origin: the engine
/// drops such fields from a redirect to another one.
struct BundleCredential {
    private let bundle: StoredBundle

    init(_ bundle: StoredBundle) {
        self.bundle = bundle
    }

    /// - Throws: `LonghaulError` `permission`, `io` if the file of the token cannot be read.
    func apply(
        _ credential: ManifestCredential, to request: inout TransferRequest
    ) throws(LonghaulError) {
        switch credential {
        case .none: break
        case .source:
            if let token = try token() { request.options.headers.setBearer(token) }
        case .bearer(let token): request.options.headers.setBearer(token)
        case .registryLogin: request.options.user = bundle.settings.token
        }
    }

    var exists: Bool { bundle.settings.token != nil || bundle.settings.tokenFile != nil }

    private func token() throws(LonghaulError) -> String? {
        if let token = bundle.settings.token { return token }
        guard let path = bundle.settings.tokenFile else { return nil }
        do throws(SystemFailure) {
            let text = try TextFile.read(path).map { String(decoding: $0, as: UTF8.self) }
            let token = text?.trimmingBlanks.split(separator: "\n").first.map(String.init)
            return token.flatMap { $0.isEmpty ? nil : $0 }
        } catch {
            throw error.longhaulError()
        }
    }
}

extension HeaderFields {
    fileprivate mutating func setBearer(_ token: String) {
        self["Authorization"] = "Bearer " + token
    }
}

extension RegistryAccess {
    /// How long it may be used.
    var seconds: Double {
        switch self {
        case .open, .basic: 86_400
        // A request that begins in the last seconds would be refused.
        case .bearer(let token): token.seconds * 0.8
        }
    }
}
