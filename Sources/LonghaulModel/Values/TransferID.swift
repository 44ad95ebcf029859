/// Identifies a transfer in one store: a positive integer, assigned in the order of enqueueing and
/// never reused; output and commands use the number itself.
public struct TransferID: RawRepresentable, Hashable, Comparable, Codable, Sendable {
    /// The number that is printed and stored; positive.
    public let rawValue: Int64

    /// An id as a number; whether there is such a transfer is not checked.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// True if the left one was enqueued earlier.
    public static func < (left: TransferID, right: TransferID) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension TransferID: CustomStringConvertible, LosslessStringConvertible {
    /// The number in decimal digits.
    public var description: String { String(rawValue) }

    /// `nil` for text that is no positive integer.
    public init?(_ description: String) {
        guard let value = Int64(description), value > 0 else { return nil }
        self.init(rawValue: value)
    }
}

/// Identifies a fetch: the one on-wire job that feeds a part file. Several equal transfers may
/// share one.
package struct FetchID: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: FetchID, right: FetchID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Names one use of the wire by one segment of a fetch. Facts carry it, so that late reports of an
/// earlier attempt are recognised and dropped.
package struct SegmentKey: Hashable, Sendable {
    package let fetch: FetchID
    /// Raised with every request that goes out for the fetch, in this process.
    package let serial: Int64

    package init(fetch: FetchID, serial: Int64) {
        self.fetch = fetch
        self.serial = serial
    }
}
