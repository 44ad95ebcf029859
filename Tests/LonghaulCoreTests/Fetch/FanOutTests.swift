import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// What is written of the leader of an upload that several share.
@Suite struct FanOutTests {
    private func subscriber(_ id: Int64, upload: Bool, wanted: Bool = true) -> Subscriber {
        var request = TransferRequest(url: "http://h/f", destination: .file("/d/f\(id)"))
        if upload { request.options.upload = UploadOptions() }
        return Subscriber(
            id: TransferID(rawValue: id), request: request, destination: "/d/f\(id)",
            deadline: Timestamp(milliseconds: 1_000_000),
            eligibility: EligibilityKey(request.schedule, isDiscretionary: false),
            isWanted: wanted, bytesFetched: id)
    }

    private func writes(
        upload: Bool, _ written: StoreWrite
    ) -> [StoreWrite] {
        var subscribers = Subscribers(leader: subscriber(1, upload: upload))
        subscribers.admit(subscriber(2, upload: upload))
        subscribers.admit(subscriber(3, upload: upload, wanted: false))
        var step = FetchStep()
        step.writes = [written]
        FanOut.extend(&step, to: subscribers)
        return step.writes
    }

    private func id(_ number: Int64) -> TransferID { TransferID(rawValue: number) }

    /// The leader last: its row has the answer.
    @Test func anUploadIsCompletedForAll() {
        let totals = TransferTotals(bytesTotal: 9, bytesDone: 9, bytesFetched: 12, attempts: 2)
        func own(_ bytes: Int64) -> TransferTotals {
            TransferTotals(bytesTotal: 9, bytesDone: 9, bytesFetched: bytes, attempts: 2)
        }
        #expect(
            writes(upload: true, .completed(id(1), path: "/d/f1", totals)) == [
                .completed(id(2), path: "/d/f2", own(2)),
                .completed(id(3), path: "/d/f3", own(3)),
                .completed(id(1), path: "/d/f1", totals),
            ])
    }

    /// A file that was found under its name is the leader's alone.
    @Test func aDownloadIsTheLeaders() {
        let totals = TransferTotals(bytesTotal: 9, bytesDone: 9)
        #expect(
            writes(upload: false, .completed(id(1), path: "/d/f1", totals)) == [
                .completed(id(1), path: "/d/f1", totals),
                .queued(id(2), readyAt: nil, waitingFor: []), .leave(id(2)), .leave(id(3)),
            ])
    }

    /// All of them wait for the same reason, except for a fault of the leader's own disk.
    @Test(arguments: [("network", true), ("noSpace", false)])
    func theLastErrorIsThatOfAll(code: String, isForAll: Bool) {
        let error = LonghaulError(
            LonghaulError.Code(rawValue: code), "what happened", transferID: id(1))
        let all: [StoreWrite] = [
            .lastError(id(1), error), .lastError(id(2), error.about(id(2))),
        ]
        #expect(
            writes(upload: false, .lastError(id(1), error)) == (isForAll ? all : [all[0]]))
        #expect(
            writes(upload: false, .lastError(id(1), nil))
                == [.lastError(id(1), nil), .lastError(id(2), nil)])
    }
}
