import Glibc
import LonghaulCore
import Synchronization
import Testing

@testable import LonghaulPlatform

@Suite struct WakeTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private func listener(in directory: String, _ count: Counter) throws -> WakeListener {
        try WakeListener(in: directory) { count.add() }
    }

    @Test func aPokeArrives() throws {
        let count = Counter()
        let listener = try listener(in: scratch.path, count)
        #expect(try scratch.mode(WakeAddress.fileName) == 0o600)
        for round in 1...20 {
            WakeChannel.poke(scratch.path)
            eventually("poke \(round) arrives") { count.value == round }
        }
        listener.stop()
    }

    @Test func aThousandPokesNeverBlock() throws {
        let entered = Counter()
        let gate = Atomic(false)
        let listener = try WakeListener(in: scratch.path) {
            entered.add()
            while !gate.load(ordering: .relaxed) { usleep(100) }
        }
        // The engine is busy; its socket takes few and the rest goes nowhere.
        for _ in 1...1_000 { WakeChannel.poke(scratch.path) }
        gate.store(true, ordering: .relaxed)
        eventually("the engine is told at least once") { entered.value >= 1 }
        listener.stop()
        #expect(entered.value < 1_000)
    }

    @Test func pokingNobodyIsNoError() throws {
        WakeChannel.poke(scratch.path)
        WakeChannel.poke(scratch.path("nowhere"))
        try scratch.write("", to: WakeAddress.fileName)
        WakeChannel.poke(scratch.path)
    }

    /// Its directory was made anew meanwhile, and another engine is there.
    @Test func stoppingLeavesTheSocketOfAnotherOne() throws {
        let old = try listener(in: scratch.path, Counter())
        try #require(unlink(scratch.path(WakeAddress.fileName)) == 0)
        let count = Counter()
        let new = try listener(in: scratch.path, count)
        old.stop()
        WakeChannel.poke(scratch.path)
        eventually("the poke arrives") { count.value == 1 }
        new.stop()
        #expect(try scratch.names() == [])
    }

    @Test func stoppingRemovesTheSocketAndEndsTheCalls() throws {
        let count = Counter()
        let listener = try listener(in: scratch.path, count)
        listener.stop()
        #expect(try scratch.names() == [])
        WakeChannel.poke(scratch.path)
        #expect(count.value == 0)
        listener.stop()
    }

    @Test func lettingGoStops() throws {
        var listener: WakeListener? = try listener(in: scratch.path, Counter())
        #expect(scratch.exists(WakeAddress.fileName))
        listener = nil
        #expect(!scratch.exists(WakeAddress.fileName))
        _ = listener
    }

    @Test func replacesTheSocketOfADeadEngine() throws {
        do {
            let dead = try WakeAddress.socket("")
            let address = try WakeAddress(in: scratch.path)
            try #require(address.with { bind(dead.number, $0, $1) } == 0)
        }
        #expect(scratch.exists(WakeAddress.fileName))
        let count = Counter()
        let listener = try listener(in: scratch.path, count)
        WakeChannel.poke(scratch.path)
        eventually("the new engine is told") { count.value == 1 }
        listener.stop()
    }

    /// A socket's address takes 107 bytes; a path may have 4,095.
    @Test(arguments: [60, 100, 200])
    func reachesDirectoriesWithLongPaths(length: Int) throws {
        let name = String(repeating: "d", count: length)
        let path = try scratch.subdirectory(name)
        let count = Counter()
        let listener = try listener(in: path, count)
        #expect(scratch.exists("\(name)/\(WakeAddress.fileName)"))
        WakeChannel.poke(path)
        eventually("the poke arrives") { count.value == 1 }
        listener.stop()
        #expect(!scratch.exists("\(name)/\(WakeAddress.fileName)"))
    }

    @Test func reportsADirectoryThatIsMissing() {
        let failure = #expect(throws: SystemFailure.self) {
            _ = try listener(in: scratch.path("nowhere"), Counter())
        }
        #expect(failure?.errno == ENOENT)
    }

    /// The kernel counts how often a thread went to sleep of its own accord: once for each time it
    /// was woken.
    @Test func sleepsUntilItIsPoked() throws {
        let count = Counter()
        let thread = Mutex<String?>(nil)
        let listener = try WakeListener(in: scratch.path) {
            if let path = realpath("/proc/thread-self", nil) {
                thread.withLock { $0 = String(cString: path) + "/status" }
                free(path)
            }
            count.add()
        }
        WakeChannel.poke(scratch.path)
        eventually("the poke arrives") { count.value == 1 }
        let status = try #require(thread.withLock { $0 })
        func sleeps() throws -> Int {
            let line = try smallFile(status).split(separator: "\n")
                .first { $0.hasPrefix("voluntary_ctxt_switches:") }
            return try #require(line?.split(separator: "\t").last.flatMap { Int($0) })
        }
        try eventually("it goes to sleep") {
            try smallFile(status).contains("State:\tS")
        }
        let before = try sleeps()
        usleep(300_000)
        #expect(try sleeps() == before)
        listener.stop()
    }
}

/// Counts calls from any thread.
final class Counter: Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .relaxed) }

    func add() { number.add(1, ordering: .relaxed) }
}
