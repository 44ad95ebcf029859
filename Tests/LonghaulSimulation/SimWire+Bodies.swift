import LonghaulCore
import LonghaulSimulatedWire

/// What bodies bring.
extension SimWire {
    func rate(of request: SimulatedRequest) -> Double { request.served.rate }

    func variation() -> Double { Double.random(in: 0.5...1.5, using: &random) }

    func overshoot() -> Int64 { Int64.random(in: 0...4096, using: &random) }

    func willReceive(_ key: SegmentKey, _ range: Range<Int64>, _ request: SimulatedRequest) {
        guard let content = contents[request.url] else { return }
        onReceive(key, range.clamped(to: 0..<(request.stopAt ?? .max)), content, request.plan)
    }

    func didReceive(_ count: Int64, _ request: SimulatedRequest) {
        let cell = request.request.target.cell
        disk.cells[cell]?.received += count
        if let entry = disk.open[request.request.key.fetch] {
            disk.cells[entry.cell]?.received += count
        }
        guard request.hasWritten, let written = disk.cells[cell]?.written else { return }
        disk.cells[cell]?.written = max(written, request.position)
    }

    func didOverrun(_ key: SegmentKey, _ range: Range<Int64>) { onOverrun(key, range) }

    func didWaste(_ key: SegmentKey, _ count: Int64) { onWaste(key, count) }

    func isHeld(_ range: Range<Int64>, at position: Int64, _ request: SimulatedRequest) -> Bool {
        let place = position..<position + Int64(range.count)
        let held = disk.files[inode(of: request)]?.data.pieces(in: place) ?? []
        return held == placed(range, at: position, request)
    }

    func write(
        _ range: Range<Int64>, at position: Int64, _ request: SimulatedRequest
    ) -> (errno: Int32, count: Int64) {
        disk.write(
            inode(of: request), position..<position + Int64(range.count),
            placed(range, at: position, request))
    }

    private func inode(of request: SimulatedRequest) -> UInt64 {
        UInt64(request.request.target.descriptor)
    }

    private func placed(
        _ part: Range<Int64>, at position: Int64, _ request: SimulatedRequest
    ) -> [SimBytes.Run] {
        versions[request.request.key, default: SimBytes()].pieces(in: part)
            .map { $0.moved(by: position - part.lowerBound) }
    }
}
