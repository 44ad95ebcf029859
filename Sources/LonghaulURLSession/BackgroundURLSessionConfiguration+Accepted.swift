#if !canImport(Darwin)
internal import Foundation
public import FoundationNetworking

/// Values of settings that do nothing here.
struct AcceptedSettings: Sendable {
    var waitsForConnectivity = true
    var sharedContainerIdentifier: String?
    var shouldUseExtendedBackgroundIdleMode = false
    var multipathServiceType = BackgroundURLSessionConfiguration.MultipathServiceType.none
    var cookieAcceptPolicy = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain
    var usesPipelining = false
    var cache: URLCache?
    var maximumTLS = tls_protocol_version_t.TLSv13
    var requiresDNSSECValidation = false
}

/// Settings without a meaning on Linux: they are accepted and kept, and do nothing.
extension BackgroundURLSessionConfiguration {
    /// URLSession's types of a multipath service.
    public enum MultipathServiceType: Int, Sendable {
        /// One path. The default.
        case none = 0
        /// Another path where the first one fails.
        case handover = 1
        /// Several paths for the shortest delay.
        case interactive = 2
        /// Several paths for the largest throughput.
        case aggregate = 3
    }

    /// Does nothing: a background session always waits for a network, as Foundation's does. The
    /// delegate is notified either way. Default: yes.
    public var waitsForConnectivity: Bool {
        get { self[\.accepted.waitsForConnectivity] }
        set { self[\.accepted.waitsForConnectivity] = newValue }
    }

    /// Does nothing: processes of one user share the state directory. Default: `nil`.
    public var sharedContainerIdentifier: String? {
        get { self[\.accepted.sharedContainerIdentifier] }
        set { self[\.accepted.sharedContainerIdentifier] = newValue }
    }

    /// Does nothing: the engine keeps no connection without a request. Default: no.
    public var shouldUseExtendedBackgroundIdleMode: Bool {
        get { self[\.accepted.shouldUseExtendedBackgroundIdleMode] }
        set { self[\.accepted.shouldUseExtendedBackgroundIdleMode] = newValue }
    }

    /// Does nothing: a connection has one path. Default: `.none`.
    public var multipathServiceType: MultipathServiceType {
        get { self[\.accepted.multipathServiceType] }
        set { self[\.accepted.multipathServiceType] = newValue }
    }

    /// Does nothing: cookies of answers are not stored. Default: `.onlyFromMainDocumentDomain`.
    public var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { self[\.accepted.cookieAcceptPolicy] }
        set { self[\.accepted.cookieAcceptPolicy] = newValue }
    }

    /// Does nothing: requests are not pipelined. Default: no.
    public var httpShouldUsePipelining: Bool {
        get { self[\.accepted.usesPipelining] }
        set { self[\.accepted.usesPipelining] = newValue }
    }

    /// Does nothing: nothing is cached. Default: `nil`.
    public var urlCache: URLCache? {
        get { self[\.accepted.cache] }
        set { self[\.accepted.cache] = newValue }
    }

    /// Does nothing: the newest version that both sides know is spoken. Default: `.TLSv13`.
    public var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t {
        get { self[\.accepted.maximumTLS] }
        set { self[\.accepted.maximumTLS] = newValue }
    }

    /// Does nothing: names are resolved as the machine is set up. Default: no.
    public var requiresDNSSECValidation: Bool {
        get { self[\.accepted.requiresDNSSECValidation] }
        set { self[\.accepted.requiresDNSSECValidation] = newValue }
    }
}
#endif
