internal import LonghaulCore

/// What the engine keeps about fetches that may be shared, besides their subscriberLists.
struct CoalescingIndex {
    /// Their part files are on disks that were away when somebody from elsewhere came for them.
    private(set) var away: Set<FetchID> = []
    /// By key; those with one key are few, and compared as whole identities.
    private var fetches: [Int64: [FetchID]] = [:]
    /// By key: who was looked at last of those that might join.
    private var places: [Int64: TransferID] = [:]
    /// Copies handed over in the commit that is under way: each goes on as a fetch of its own.
    var given: [StartedFetch] = []
    /// Fetches that end with this commit for those whom they serve: nobody joins them.
    var departing: Set<FetchID> = []
    /// In the commit that is under way somebody went back to the queue whom nobody wants.
    var areSomeUnwanted = false
    /// Ordered and not answered yet, whatever became of their fetch: an engine that left before
    /// would leave a file behind that nobody knows of.
    private(set) var copiesUnderWay = 0

    func fetches(_ key: Int64) -> [FetchID] { fetches[key] ?? [] }

    mutating func add(_ fetch: FetchID, _ key: Int64) {
        fetches[key, default: []].append(fetch)
    }

    /// After whom to look on; `nil` = from the first.
    func place(in key: Int64) -> TransferID? { places[key] }

    mutating func setPlace(_ last: TransferID?, in key: Int64) { places[key] = last }

    mutating func keepPlaces(in keys: Set<Int64>) {
        if !places.isEmpty { places = places.filter { keys.contains($0.key) } }
    }

    mutating func ordered(_ copies: Int) { copiesUnderWay += copies }

    mutating func note(_ event: FetchEvent, of fetch: FetchID) {
        if event.settles == .copy { copiesUnderWay -= 1 }
        if case .prepared = event { away.remove(fetch) }
        if case .prepareFailed(let fault) = event, fault.unmounted != nil { away.insert(fetch) }
        precondition(copiesUnderWay >= 0, "a copy is answered once")
    }

    mutating func remove(_ fetch: FetchID, _ key: Int64) {
        fetches[key]?.removeAll { $0 == fetch }
        if fetches[key]?.isEmpty == true { fetches[key] = nil }
    }
}
