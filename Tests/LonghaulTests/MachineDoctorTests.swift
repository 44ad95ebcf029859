import LonghaulCore
import Testing

@testable import Longhaul

@Suite struct MachineDoctorTests {
    private let now = Timestamp(milliseconds: 1_795_000_000_000)

    @Test func aClockThatIsRight() {
        #expect(MachineDoctor.clock(now: now, newest: nil).ok)
        // Corrected by a little since.
        #expect(MachineDoctor.clock(now: now, newest: now + 30).ok)
    }

    @Test func aClockThatIsWrong() {
        let unset = MachineDoctor.clock(now: Timestamp(milliseconds: 5_000), newest: nil)
        #expect(!unset.ok && unset.fix != nil)
        #expect(unset.detail.contains("1970-01-01"))
        let back = MachineDoctor.clock(now: now, newest: now + 3_600)
        #expect(!back.ok && back.fix != nil)
        #expect(back.detail.contains(RFC3339.format(now + 3_600)))
    }

    @Test func limits() {
        #expect(MachineDoctor.limits(openFiles: 1024, fileBytes: nil).ok)
        #expect(MachineDoctor.limits(openFiles: .max, fileBytes: nil).ok)
        let both = MachineDoctor.limits(openFiles: 40, fileBytes: 4096)
        #expect(!both.ok)
        #expect(both.detail.contains("40 files") && both.detail.contains("4.0 KiB"))
        #expect(both.fix?.contains("ulimit -n") == true)
        #expect(both.fix?.contains("ulimit -f") == true)
    }
}
