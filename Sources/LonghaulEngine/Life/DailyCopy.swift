internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform
internal import Synchronization

/// An engine that ends before copies nothing meanwhile.
private let firstCopySeconds: Double = 2
/// How often it is checked whether a copy is due; a copy that failed for want of room is tried
/// again.
private let copyCheckSeconds: Double = 3600
/// A store up to this size is copied by an engine that leaves before its first check.
private let copiedAtEndBytes: Int64 = 4 << 20

/// Has the store copied on a separate thread when the last copy is a day old.
final class DailyCopy {
    private let store: Store
    private let isOver = Flag()
    private let isBusy = Flag()
    private var thread: SystemThread?
    /// When to check next whether a copy is due.
    private(set) var nextLook: Instant
    private var looksMade = 0

    private final class Flag: Sendable {
        let value = Atomic(false)
    }

    init(of store: Store, now: Instant) {
        self.store = store
        nextLook = now + firstCopySeconds
    }

    func copyIfDue(now: Moment) {
        guard now.monotonic >= nextLook, !isBusy.value.load(ordering: .acquiring) else { return }
        nextLook = now.monotonic + copyCheckSeconds
        looksMade += 1
        guard (try? StoreCopy.isDue(of: store, now: now.wall)) == true else { return }
        isBusy.value.store(true, ordering: .relaxed)
        let (directory, isOver, isBusy) = (store.location.directory, isOver, isBusy)
        thread = try? SystemThread(name: "longhaul-copy") {
            // A failed copy is made again; `doctor` reports the store's damage.
            try? StoreCopy.make(directory: directory, now: now.wall) {
                !isOver.value.load(ordering: .relaxed)
            }
            isBusy.value.store(false, ordering: .releasing)
        }
        if thread == nil { isBusy.value.store(false, ordering: .relaxed) }
    }

    /// Ends a running copy soon.
    ///
    /// - Parameter isHurried: The engine was ordered to leave.
    func end(isHurried: Bool) {
        isOver.value.store(true, ordering: .relaxed)
        thread?.join()
        thread = nil
        guard !isHurried, looksMade == 0 else { return }
        let (directory, now) = (store.location.directory, SystemClock.now().wall)
        if StoreCopy.size(directory: directory) <= copiedAtEndBytes,
            (try? StoreCopy.isDue(of: store, now: now)) == true
        {
            try? StoreCopy.make(directory: directory, now: now) { true }
        }
    }

    deinit {
        isOver.value.store(true, ordering: .relaxed)
    }
}
