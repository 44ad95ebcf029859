import Foundation
import LonghaulPlatform
import Testing

struct MailboxTests {
    @Test func allThatIsThereIsTakenAtOnce() {
        let box = Mailbox<Int>()
        box.put([1, 2])
        box.put([3])
        #expect(box.take(within: 60) == [1, 2, 3])
        #expect(box.take(within: 0).isEmpty)
    }

    /// One waking for many: the first alone does not end the wait.
    @Test func messagesGather() {
        let box = Mailbox<Int>()
        let sender = Thread {
            for number in 1...3 { box.put([number]) }
        }
        sender.start()
        #expect(box.take(within: 60, gathering: Gathering(count: 3, seconds: 60)) == [1, 2, 3])
    }

    @Test func aGatheringEndsByTheClock() {
        let box = Mailbox<Int>()
        box.put([1])
        #expect(box.take(within: nil, gathering: Gathering(count: 2, seconds: 0.01)) == [1])
    }

    /// After a gathering the next wait ends with the first message again.
    @Test func nothingWaitsForANumberOfAnEarlierWait() {
        let box = Mailbox<Int>()
        box.put([1])
        _ = box.take(within: 0, gathering: Gathering(count: 5, seconds: 0.01))
        let sender = Thread { box.put([2]) }
        let start = ContinuousClock.now
        sender.start()
        #expect(box.take(within: 60) == [2])
        // Forgotten, the number would hold this wait to its end.
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    /// Without a message there is nothing to gather.
    @Test func nothingGathersOnNothing() {
        let box = Mailbox<Int>()
        #expect(box.take(within: 0, gathering: Gathering(count: 2, seconds: 60)).isEmpty)
    }
}
