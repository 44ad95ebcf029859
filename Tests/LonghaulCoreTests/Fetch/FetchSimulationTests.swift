import LonghaulCore
import Testing

/// Any server, any faults, any crashes: what is published is whole and of one version, the store
/// never claims more than is durable, and once the faults stop the transfer is completed.
@Suite struct FetchSimulationTests {
    @Test(arguments: 0..<400) func anyWorld(seed: UInt64) {
        var world = SimFetch(seed: seed)
        for _ in 0..<3000 where world.ended == nil { world.step() }
        world.faults = false
        var steps = 0
        while world.ended == nil, steps < 30_000 {
            world.step()
            steps += 1
        }
        guard case .completed? = world.ended else {
            let end = world.ended.map { "\($0)" } ?? "never ended"
            Issue.record("seed \(seed): \(end)\n\(world.story)")
            return
        }
        world.check()
    }
}
