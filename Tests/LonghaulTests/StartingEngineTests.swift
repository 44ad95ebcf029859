import Foundation
import LonghaulCore
import LonghaulStore
import LonghaulPlatform
import Testing

@testable import Longhaul

/// The moment in which an engine is there and has not looked at the machine yet.
@Suite struct StartingEngineTests {
    @Test func whatItHasNotLookedAtIsNotUnknown() throws {
        let home = try SessionHome()
        let queue = try TransferQueue(directory: home.store)
        var request = TransferRequest(
            url: "http://127.0.0.1:1/f", destination: .file(home.file("f").path))
        request.schedule.requires.power = true
        _ = try queue.enqueue([request])
        let id = TransferID(rawValue: 1)
        try queue.keepOverride(ConditionOverride(parsing: "power=battery"))
        let lock = try EngineLock.tryAcquire(in: home.store)
        #expect(lock != nil)

        func begin() throws -> Epoch {
            try queue.store.lease.raiseEpoch(
                EngineHolder(pid: 1, pidStart: 1, bootID: "b", mode: "daemon"), now: queue.now)
        }
        func publish(_ conditions: Conditions, _ epoch: Epoch) throws {
            try queue.store.withEngineTransaction(epoch, .durable) {
                try $0.publish(EngineView(conditions: conditions))
            }
        }
        func current() throws -> [String?]? {
            try queue.transfer(id)?.waitingFor.filter { $0.reason == .power }.map(\.current)
        }
        let first = try begin()
        try publish(Conditions(), first)
        #expect(try current() == ["battery"])
        // It has, and goes by that.
        try publish(.unknown(since: queue.now), first)
        #expect(try current() == ["unknown"])
        // Its successor does not.
        _ = try begin()
        #expect(try current() == ["battery"])
        withExtendedLifetime(lock) {}
    }
}
