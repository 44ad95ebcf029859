internal import LonghaulCore
internal import LonghaulStore
internal import Synchronization

/// Answers of hosts about transfers that wait for their word: recorded as they come, and kept in
/// their order while the store cannot be written.
final class HostAnswers: Sendable {
    typealias Record = @Sendable (InputAnswer, _ session: String) throws(LonghaulError) -> Void

    /// More than a launch is asked about is no answer to anything.
    private static let keptMax = Limits.eventsPerLaunch

    private struct Kept {
        let session: String
        var answers: [InputAnswer]
    }

    private let record: Record
    private let kept = Mutex<[LaunchID: Kept]>([:])

    init(record: @escaping Record) {
        self.record = record
    }

    /// Records it, or keeps it. `true`: from now on there is something to be recorded later, see
    /// ``recordKept(of:)``.
    ///
    /// - Parameter refuse: Gets the reason why an answer makes no sense.
    func accept(
        _ answer: InputAnswer, of id: LaunchID, session: String,
        refuse: (LonghaulError) -> Void = { _ in }
    ) -> Bool {
        let waits = kept.withLock { kept in
            guard let count = kept[id]?.answers.count else { return false }
            if count < Self.keptMax { kept[id]?.answers.append(answer) }
            return true
        }
        // Behind earlier ones.
        if waits { return false }
        do throws(LonghaulError) {
            try record(answer, session)
            return false
        } catch {
            guard error.isOfStore else {
                refuse(error)
                return false
            }
            kept.withLock { $0[id] = Kept(session: session, answers: [answer]) }
            return true
        }
    }

    /// Throws while the store cannot be written; unrecorded answers stay.
    func recordKept(of id: LaunchID) throws(LonghaulError) {
        while let (answer, session) = first(of: id) {
            do throws(LonghaulError) {
                try record(answer, session)
            } catch {
                if error.isOfStore { throw error }
            }
            removeFirst(of: id)
        }
    }

    func drop(of id: LaunchID) {
        kept.withLock { $0[id] = nil }
    }

    private func first(of id: LaunchID) -> (InputAnswer, String)? {
        kept.withLock { kept in
            guard let launch = kept[id], let answer = launch.answers.first else { return nil }
            return (answer, launch.session)
        }
    }

    /// Removes an answer. After the last one it is as if there had been none.
    private func removeFirst(of id: LaunchID) {
        kept.withLock { kept in
            kept[id]?.answers.removeFirst()
            if kept[id]?.answers.isEmpty == true { kept[id] = nil }
        }
    }
}

extension LonghaulError {
    fileprivate var isOfStore: Bool { code == .storeUnavailable || code == .internal }
}
