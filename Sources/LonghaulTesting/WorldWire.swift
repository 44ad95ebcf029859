internal import CLonghaul
internal import Glibc
internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulSimulatedWire

/// The transport of a simulated world: it moves bytes from the servers of ``SimulatedNetwork`` into
/// part files. Used by the world alone.
final class WorldWire: SimulatedWire, @unchecked Sendable {
    let network: SimulatedNetwork
    private let clock: VirtualClock
    private var last: Instant
    /// The files that answers are parts of.
    var contents: [SegmentKey: [UInt8]] = [:]
    var requests: [SegmentKey: SimulatedRequest] = [:]
    var order: [SegmentKey] = []
    var facts: [WireFact] = []
    private(set) var isDown = false

    init(_ network: SimulatedNetwork, _ clock: VirtualClock) {
        self.network = network
        self.clock = clock
        last = clock.now.monotonic
    }

    var now: Moment { clock.now }

    // MARK: - For the world

    /// All facts since the last call.
    func takeFacts() -> [WireFact] {
        defer { facts = [] }
        return facts
    }

    func setOffline(_ isOffline: Bool) {
        isDown = isOffline
        guard isOffline else { return }
        for key in order where requests[key]?.isQueued == false {
            // 56: CURLE_RECV_ERROR
            end(key, .curl(code: 56, text: "the network is down", osError: ENETDOWN))
        }
    }

    /// Carries out everything that happens until now.
    func advance() {
        advance(now.monotonic - last)
        last = now.monotonic
    }

    // MARK: - For the wire

    func latency() -> Double { network.latency }

    func rate(of request: SimulatedRequest) -> Double {
        min(network.bytesPerSecond, request.request.limitRate.map(Double.init) ?? .infinity)
    }

    func isHeld(_ range: Range<Int64>, at position: Int64, _ request: SimulatedRequest) -> Bool {
        var held = [UInt8](repeating: 0, count: range.count)
        let count = pread(
            request.request.target.descriptor, &held, held.count, off_t(position))
        return count == held.count && held[...] == bytes(range, request)
    }

    func write(
        _ range: Range<Int64>, at position: Int64, _ request: SimulatedRequest
    ) -> (errno: Int32, count: Int64) {
        var rest = bytes(range, request)
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes {
                pwrite(
                    request.request.target.descriptor, $0.baseAddress, $0.count,
                    off_t(position + Int64(range.count - rest.count)))
            }
            if written < 0, errno == EINTR { continue }
            if written <= 0 { return (errno, Int64(range.count - rest.count)) }
            rest = rest.dropFirst(written)
        }
        return (0, Int64(range.count))
    }

    private func bytes(_ range: Range<Int64>, _ request: SimulatedRequest) -> ArraySlice<UInt8> {
        contents[request.request.key, default: []][Int(range.lowerBound)..<Int(range.upperBound)]
    }

    /// Shows the progress on the board.
    func didReceive(_ count: Int64, _ request: SimulatedRequest) {
        let cell = request.request.target.cell
        guard cell != 0 else { return }
        func add(_ cell: UInt) {
            let place = cell + UInt(8 * ProgressCell.received)
            lh_word_store(place, lh_word_load(place) &+ UInt64(count))
        }
        if request.hasWritten {
            lh_word_store(
                cell + UInt(8 * ProgressCell.written), UInt64(bitPattern: request.position))
        }
        add(cell)
        let owner = lh_word_load(cell + UInt(8 * ProgressCell.fetchCell))
        if owner != 0 { add(UInt(owner)) }
    }

    func willEnd(_ key: SegmentKey, _ request: SimulatedRequest, _ end: inout SegmentEnd) {
        contents[key] = nil
        if request.request.upload != nil { end.bytesSent = request.served.sent }
    }
}
