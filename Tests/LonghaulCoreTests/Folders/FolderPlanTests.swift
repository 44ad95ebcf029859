import LonghaulCore
import Testing

/// What is done with each file of a watched folder.
@Suite struct FolderPlanTests {
    private static let old = SourceVersion(device: 1, inode: 2, size: 3, modified: 4, changed: 5)
    private static let new = SourceVersion(device: 1, inode: 2, size: 4, modified: 9, changed: 9)
    private static let now = Instant(nanoseconds: 1_000_000_000)
    private static let later = now + 5
    private static let refusal = LonghaulError(.permission, "no")

    private static func sending(
        _ version: SourceVersion, isLive: Bool
    ) -> FolderFile.Sending {
        var sending = FolderFile.Sending(id: TransferID(rawValue: 7), version: version)
        sending.isLive = isLive
        return sending
    }

    private enum Step { case none, look, send, finish }

    private static let table: [(FolderFile, Step, pending: Int, next: Instant?)] = [
        (FolderFile(version: old, standing: .settling(until: later)), .none, 1, later),
        (FolderFile(version: old, standing: .settling(until: now)), .look, 1, nil),
        (FolderFile(version: old, standing: .complete), .send, 1, nil),
        (FolderFile(version: old, standing: .sent), .finish, 0, nil),
        // While a transfer runs, its file is left alone, also if it has changed meanwhile.
        (
            FolderFile(
                version: old, standing: .complete, sending: sending(old, isLive: true)), .none, 0,
            nil
        ),
        (
            FolderFile(
                version: new, standing: .settling(until: now), sending: sending(old, isLive: true)),
            .none, 0, nil
        ),
        // What has failed is sent again once it has changed.
        (
            FolderFile(
                version: old, standing: .complete, sending: sending(old, isLive: false)), .none, 0,
            nil
        ),
        (
            FolderFile(
                version: new, standing: .complete, sending: sending(old, isLive: false)), .send, 1,
            nil
        ),
        (FolderFile(version: old, standing: .refused(refusal, until: later)), .none, 0, later),
        (FolderFile(version: old, standing: .refused(refusal, until: now)), .look, 0, nil),
    ]

    @Test func eachStanding() {
        for (file, step, pending, next) in Self.table {
            let plan = FolderPlan.decide(["a": file], room: 1, limit: 9, now: Self.now)
            #expect(plan.look == (step == .look ? ["a"] : []), "\(file)")
            #expect(plan.send == (step == .send ? ["a"] : []), "\(file)")
            #expect(plan.finish == (step == .finish ? ["a"] : []), "\(file)")
            #expect(plan.pending == pending && plan.next == next, "\(file)")
        }
    }

    @Test func manyFilesTakeSeveralSteps() {
        var files: [String: FolderFile] = [:]
        for number in 0..<100 {
            files["\(number)"] = FolderFile(version: Self.old, standing: .complete)
        }
        let full = FolderPlan.decide(files, room: 0, limit: 10, now: Self.now)
        #expect(full.send.isEmpty && full.pending == 100 && full.next == nil)
        let some = FolderPlan.decide(files, room: 50, limit: 10, now: Self.now)
        #expect(some.send.count == 10 && some.next == Self.now)
        let few = FolderPlan.decide(files, room: 5, limit: 10, now: Self.now)
        #expect(few.send.count == 5 && few.next == nil)
    }

    @Test func theEndOfATransferIsThatOfItsVersion() {
        var file = FolderFile(
            version: Self.old, standing: .complete, sending: Self.sending(Self.old, isLive: true))
        file.ended(.completed, nil)
        #expect(file.standing == .sent && file.sending == nil)
        // It was changed after it was sent: what is there now is not at the server.
        file = FolderFile(
            version: Self.old, standing: .complete, sending: Self.sending(Self.old, isLive: true))
        file.found(Self.new, settlesAt: Self.later)
        file.ended(.completed, nil)
        #expect(file.standing == .settling(until: Self.later) && file.sending == nil)
        file = FolderFile(
            version: Self.old, standing: .complete, sending: Self.sending(Self.old, isLive: true))
        file.ended(.failed, .forbidden)
        #expect(file.sending?.isLive == false && file.outdated == nil)
        var plan = FolderPlan.decide(["a": file], room: 1, limit: 9, now: Self.now)
        #expect(plan.send.isEmpty)
        // The file was gone, and is back.
        file.ended(.failed, .sourceChanged)
        plan = FolderPlan.decide(["a": file], room: 1, limit: 9, now: Self.now)
        #expect(plan.send == ["a"])
        file.found(Self.new, settlesAt: Self.now)
        #expect(file.outdated == file.sending?.id)
    }

    @Test func aFileThatReplacesAnotherSettlesAgain() {
        var file = FolderFile(version: Self.old, standing: .complete)
        file.found(Self.old, settlesAt: Self.later)
        #expect(file.standing == .complete)
        var other = Self.old
        other.inode = 9
        file.found(other, settlesAt: Self.later)
        #expect(file.standing == .settling(until: Self.later) && file.version == other)
    }

    /// Each mount may give the file system another number.
    @Test func anotherDeviceIsNoOtherFile() {
        var file = FolderFile(
            version: Self.old, standing: .complete, sending: Self.sending(Self.old, isLive: true))
        var remounted = Self.old
        remounted.device = 9
        file.found(remounted, settlesAt: Self.later)
        #expect(file.standing == .complete && file.outdated == nil)
        // It is deleted only while it is on that device.
        #expect(file.version.device == 9)
        file.ended(.completed, nil)
        #expect(file.standing == .sent)
    }

    @Test func theFirstRefusalIsShown() {
        let files = ["b": "2", "a": "1"].mapValues {
            FolderFile(
                version: Self.old,
                standing: .refused(LonghaulError(.io, $0), until: Self.later))
        }
        let plan = FolderPlan.decide(files, room: 1, limit: 9, now: Self.now)
        #expect(plan.refused == 2 && plan.refusal?.message == "1")
    }
}
