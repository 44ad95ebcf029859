/// Machines that share a list.
private let shards = 1_000_000

/// The part of a list that one of several machines works on. Each machine reads the whole list;
/// every request of it falls to one of them, and always to the same one.
package struct Shard: Hashable, Sendable {
    /// Counted from 1.
    package let index: Int
    package let count: Int

    /// `nil` unless 1 ≤ `index` ≤ `count` ≤ `shards`.
    package init?(index: Int, count: Int) {
        guard count >= 1, count <= shards, index >= 1, index <= count else { return nil }
        self.index = index
        self.count = count
    }

    /// Parses `I/N` as typed, such as `3/8`.
    package init?(_ text: String) {
        let numbers = text.split(separator: "/", omittingEmptySubsequences: false)
        guard numbers.count == 2, let index = Int(numbers[0]), let count = Int(numbers[1])
        else { return nil }
        self.init(index: index, count: count)
    }

    package var text: String { "\(index)/\(count)" }

    /// Decides by the URL and an upload's file alone: machines may have other directories for their
    /// files, and requests with one URL share one fetch.
    package func contains(_ request: TransferRequest) -> Bool {
        var identity = request.url
        if request.options.upload != nil, case .file(let path) = request.destination {
            identity += "\n" + path
        }
        return Int(StablePlace.of(identity) * Double(count)) == index - 1
    }

    /// The part of a bound that all machines are to keep together; at least 1.
    package func share<Number: BinaryInteger>(of bound: Number) -> Number {
        max(1, bound / Number(count))
    }
}

/// A number from 0 to 1 that a text has on every machine and in every version, evenly spread.
package enum StablePlace {
    package static func of(_ text: String) -> Double {
        var hash = StableHash()
        hash.mix(text)
        return Double(hash.value >> 11) / Double(1 << 53)
    }
}

/// A number that texts have on every machine and in every version (FNV-1a).
package struct StableHash: Sendable {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    package init() {}

    package mutating func mix(_ text: String) {
        for byte in text.utf8 { state = (state ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    package var value: UInt64 {
        // FNV mixes its low bits best; these are spread over all of them.
        var hash = state ^ state >> 33
        hash = hash &* 0xff51_afd7_ed55_8ccd
        return hash ^ hash >> 33
    }
}
