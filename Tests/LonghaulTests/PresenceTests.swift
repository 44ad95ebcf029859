import Foundation
import LonghaulTestSupport
import Testing

@testable import Longhaul

/// What a process has of a store, when threads are short and when the store is not what it was.
@Suite(.timeLimit(.minutes(10))) struct PresenceTests {
    // MARK: - No thread

    @Test func aDeskWithoutAThreadIsNone() throws {
        let home = try SessionHome()
        let error = #expect(throws: LonghaulError.self) {
            _ = try StoreDesk.open(home.store) { _, _ in false }
        }
        #expect(error?.code == .io)
        #expect(error?.message.contains("no thread") == true)
    }

    @Test func anEngineWithoutAThreadIsOverAtOnce() async throws {
        let home = try SessionHome()
        let stay = EngineStay(home.store)
        stay.start { _, _ in false }
        #expect(stay.hasEnded)
        #expect(stay.failure?.code == .io)
        try await within { await stay.leave() }
        let queue = try TransferQueue(directory: home.store)
        #expect(!queue.isEngineRunning)
    }
}
