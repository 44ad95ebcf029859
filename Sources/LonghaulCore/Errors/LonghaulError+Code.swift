extension LonghaulError {
    /// A stable code. New ones may be added; the text of one never changes: the store, the JSON and
    /// the exit status use it.
    public struct Code: RawRepresentable, Hashable, Codable, Sendable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public static let timedOut = Code(rawValue: "timedOut")
        public static let notFound = Code(rawValue: "notFound")
        public static let forbidden = Code(rawValue: "forbidden")
        public static let unauthorized = Code(rawValue: "unauthorized")
        public static let clientError = Code(rawValue: "clientError")
        public static let serverError = Code(rawValue: "serverError")
        public static let network = Code(rawValue: "network")
        public static let dns = Code(rawValue: "dns")
        public static let tls = Code(rawValue: "tls")
        public static let checksumMismatch = Code(rawValue: "checksumMismatch")
        public static let destinationExists = Code(rawValue: "destinationExists")
        public static let noSpace = Code(rawValue: "noSpace")
        public static let io = Code(rawValue: "io")
        public static let permission = Code(rawValue: "permission")
        public static let tooLarge = Code(rawValue: "tooLarge")
        public static let unsupported = Code(rawValue: "unsupported")
        public static let invalidRequest = Code(rawValue: "invalidRequest")
        public static let cancelled = Code(rawValue: "cancelled")

        // Refusals of a command, which no transfer ends with.
        public static let noSuchTransfer = Code(rawValue: "noSuchTransfer")
        public static let noSuchSession = Code(rawValue: "noSuchSession")
        public static let noSuchHost = Code(rawValue: "noSuchHost")
        public static let noSuchEvent = Code(rawValue: "noSuchEvent")
        public static let conflict = Code(rawValue: "conflict")
        public static let storeUnavailable = Code(rawValue: "storeUnavailable")
        public static let sessionInvalidated = Code(rawValue: "sessionInvalidated")
        public static let `internal` = Code(rawValue: "internal")
    }
}
