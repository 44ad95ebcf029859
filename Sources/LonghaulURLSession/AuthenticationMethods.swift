#if !canImport(Darwin)
public import Foundation
public import FoundationNetworking

/// The server asks for a certificate of the client (Foundation's constant). The answer is a
/// ``ClientCertificateCredential``.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"

/// The server's certificate was not accepted (Foundation's constant).
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

/// The certificates of a server that was not trusted (Security's type). libcurl does not hand them
/// out: they cannot be looked at here.
public struct SecTrust: Hashable, Sendable {
    /// The name of the server.
    let host: String
}

extension URLProtectionSpace {
    /// The server that was not trusted; `nil` for other challenges.
    public var serverTrust: SecTrust? {
        guard authenticationMethod == NSURLAuthenticationMethodServerTrust else { return nil }
        return SecTrust(host: host)
    }
}

/// A certificate of the client and its key, in place of the `SecIdentity` of Apple's systems.
public final class ClientCertificateCredential: URLCredential, @unchecked Sendable {
    /// The private key, without a passphrase.
    public let clientKey: Data
    /// The certificate; in PEM with those of its chain.
    public let clientCertificate: Data

    /// Both in PEM, or in DER with the key in PKCS #8. Nothing is checked here.
    public init(clientKey: Data, clientCertificate: Data) {
        self.clientKey = clientKey
        self.clientCertificate = clientCertificate
        super.init(user: "", password: "", persistence: .none)
    }

    /// Returns `nil`: keys are not archived.
    public required init?(coder: NSCoder) { nil }
}

extension URLCredential {
    /// The answer that trusts the server for the task at hand: its certificate is **not verified**.
    public convenience init(trust: SecTrust) {
        self.init(user: "", password: "", persistence: .none)
    }
}
#endif
