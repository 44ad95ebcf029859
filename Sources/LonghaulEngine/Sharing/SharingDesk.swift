internal import LonghaulCore

/// What the engine keeps about fetches that may be shared, besides their rosters.
struct SharingDesk {
    /// By key; those with one key are few, and compared as whole identities.
    private var fetches: [Int64: [FetchID]] = [:]
    /// Copies handed over in the commit that is under way: each goes on as a fetch of its own.
    var given: [Claim] = []

    func fetches(_ key: Int64) -> [FetchID] { fetches[key] ?? [] }

    mutating func add(_ fetch: FetchID, _ key: Int64) {
        fetches[key, default: []].append(fetch)
    }

    mutating func remove(_ fetch: FetchID, _ key: Int64) {
        fetches[key]?.removeAll { $0 == fetch }
        if fetches[key]?.isEmpty == true { fetches[key] = nil }
    }
}
