@testable import LonghaulCore
@testable import LonghaulModel

/// Fetches as they are begun and looked at in tests.
extension FetchMachine {
    init(
        transfer: TransferID, request: TransferRequest, destination: String, deadline: Timestamp?,
        state: FetchState, firstSerial: Int64
    ) {
        let target = FetchTarget(
            transfer: transfer, request: request, destination: destination, deadline: deadline)
        self.init(target, state, firstSerial: firstSerial)
    }

    var transfer: TransferID { target.transfer }
    var request: TransferRequest { target.request }
    var have: ByteRanges { frame.bytes.have }
    var isWhole: Bool { frame.bytes.isWhole }
    var segments: [ActiveSegment] { download?.segments ?? [] }
    var held: HeldBody? { download?.wire.held }
    var syncing: PendingSync? { frame.bytes.checkpoints.syncing }
    var nextTick: Instant? { download?.nextTick ?? upload?.status.nextTick }

    var lastError: LonghaulError? {
        get { target.lastError }
        nonmutating set { frame.target.lastError = newValue }
    }

    func part(needs: Int64?) -> PartOrder { frame.part(needs: needs) }

    func change(_ change: (FetchFrame) -> Void) { change(frame) }
}

extension FetchMachineTests.Script {
    /// The next run, from what the last one recorded.
    func again(after error: LonghaulError? = nil) -> Self {
        var script = self
        if let token = script.machine.syncing?.token { script.event(.synced(token: token)) }
        var state = script.machine.state
        state.durable = script.machine.have
        return Self(state: state, after: error)
    }

    /// Why the run has left the wire.
    var lastError: LonghaulError? {
        for case .lastError(_, let error) in writes { return error }
        return nil
    }
}
