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

    /// - Throws: `LonghaulError` `permission`, `io` if a file with the secret cannot be read;
    ///   `unauthorized` if another program keeps it.
    func apply(
        _ credential: ManifestCredential, to request: inout TransferRequest
    ) throws(LonghaulError) {
        switch credential {
        case .none: break
        case .source:
            if let token = try token() { request.options.headers.setBearer(token) }
        case .bearer(let token): request.options.headers.setBearer(token)
        case .registryLogin: request.options.user = try login()
        }
    }

    var exists: Bool { bundle.settings.secret != nil }

    private func token() throws(LonghaulError) -> String? {
        switch bundle.settings.secret {
        case .token(let token): return token
        case .tokenFile(let path):
            return try read(path).flatMap { BundleCredential.token(in: $0) }
        case .logins, nil: return nil
        }
    }

    private func login() throws(LonghaulError) -> String? {
        guard case .logins(let paths) = bundle.settings.secret else { return nil }
        for path in paths {
            guard let file = try read(path) else { continue }
            if let login = try RegistryLogins.login(for: bundle.source, in: file) { return login }
        }
        return nil
    }

    /// `nil` = there is no such file.
    private func read(_ path: String) throws(LonghaulError) -> [UInt8]? {
        do throws(SystemFailure) {
            return try TextFile.read(path)
        } catch {
            throw error.longhaulError()
        }
    }
}

extension BundleCredential {
    /// The first line that is not empty; `nil` = there is none. By the byte: Swift takes the CRLF
    /// of other systems for one character, and a line break in a field would begin another.
    static func token(in file: [UInt8]) -> String? {
        file.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }.lazy
            .map { String(decoding: $0, as: UTF8.self).trimmingBlanks }.first { !$0.isEmpty }
    }

    /// The value of the field `Authorization` (RFC 6750 §2.1).
    static func bearer(_ token: String) -> String { ["Bearer", token].joined(separator: " ") }
}

extension HeaderFields {
    fileprivate mutating func setBearer(_ token: String) {
        self["Authorization"] = BundleCredential.bearer(token)
    }
}

/// How a registry lets an image be read, until a moment.
struct RegistryLease {
    let access: RegistryAccess
    var until: Timestamp
    /// Refused tokens since the last file was complete.
    private var refusals = 0
    private var complete = 0

    init(_ access: RegistryAccess, until: Timestamp, after last: RegistryLease?) {
        self.access = access
        self.until = until
        refusals = last?.refusals ?? 0
        complete = last?.complete ?? 0
    }

    /// Counts a refused token. `false` = another one would be refused, too.
    mutating func mayRenew(complete now: Int) -> Bool {
        if now > complete { refusals = 0 }
        complete = now
        refusals += 1
        return refusals <= 3
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
