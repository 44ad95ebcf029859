import LonghaulTestSupport
import Testing

@testable import LonghaulPlatform

/// The control group of a launch: what is asked of systemd, and what the kernel's file says.
@Suite struct MemoryGroupTests {
    @Test(arguments: [
        ("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n", 2),
        ("oom_kill 0\n", 0), ("oom_group_kill 4\n", 0), ("", 0), ("oom_kill x\n", 0),
    ])
    func theEvents(_ text: String, kills: Int) {
        #expect(MemoryGroup.kills(in: text) == kills)
    }

    @Test func theCall() {
        #expect(
            MemoryGroup.call(77, 1 << 20).joined(separator: " ")
                == "--user call org.freedesktop.systemd1 /org/freedesktop/systemd1 "
                + "org.freedesktop.systemd1.Manager StartTransientUnit ssa(sv)a(sa(sv)) "
                + "longhaul-launch-77.scope fail 3 PIDs au 1 77 MemoryMax t 1048576 "
                + "MemorySwapMax t 0 0")
    }

    /// This process is in no group of a launch.
    @Test func anotherGroup() {
        #expect(MemoryGroup.find(of: 1) == nil)
    }
}
