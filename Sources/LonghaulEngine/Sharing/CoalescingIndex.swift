internal import LonghaulCore

/// The fetches that are under way, by their requests, so that equal requests share one. A
/// reference: transactions read it, and a copy of its tables for each of them would cost O(n).
final class CoalescingIndex {
    /// Fetches whose part files were on a disk that was not mounted when a transfer with a
    /// destination elsewhere came for them.
    private(set) var away: Set<FetchID> = []
    /// Fetches by key. Few have the same key, and those are compared by their whole identity.
    private var fetches: [Int64: [FetchID]] = [:]
    /// The last transfer, by key, that was examined of those that might join.
    private(set) var cursors: [Int64: TransferID] = [:]
    /// Ordered and not answered yet, whatever became of their fetch: an engine that ends before
    /// would leave a file behind that is not recorded.
    private(set) var copiesUnderWay = 0

    func fetches(_ key: Int64) -> [FetchID] { fetches[key] ?? [] }

    func add(_ fetch: FetchID, _ key: Int64) {
        assert(!fetches(key).contains(fetch), "a fetch is added once")
        fetches[key, default: []].append(fetch)
    }

    func remove(_ fetch: FetchID, _ key: Int64) {
        fetches[key]?.removeAll { $0 == fetch }
        if fetches[key]?.isEmpty == true { fetches[key] = nil }
    }

    /// Committed: the next search for newcomers goes on from there.
    func setCursors(_ new: [Int64: TransferID]) { cursors = new }

    func countOrdered(_ copies: Int) { copiesUnderWay += copies }

    /// Before the fetch's machine gets the event.
    func settle(_ event: FetchEvent, of fetch: FetchID) {
        if event.settles == .copy { copiesUnderWay -= 1 }
        if case .prepared = event { away.remove(fetch) }
        if case .prepareFailed(let fault) = event, fault.unmounted != nil { away.insert(fetch) }
        precondition(copiesUnderWay >= 0, "a copy is answered once")
    }
}
