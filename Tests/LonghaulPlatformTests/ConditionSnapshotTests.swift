import Glibc
import LonghaulCore
import Testing

@testable import LonghaulPlatform

@Suite struct StateDirectoryTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    @Test(arguments: [
        (["LONGHAUL_HOME": "/h", "XDG_STATE_HOME": "/x", "HOME": "/u"], "/h"),
        (["XDG_STATE_HOME": "/x", "HOME": "/u"], "/x/longhaul"),
        (["XDG_STATE_HOME": "relative", "HOME": "/u"], "/u/.local/state/longhaul"),
        (["LONGHAUL_HOME": "", "XDG_STATE_HOME": "", "HOME": "/u"], "/u/.local/state/longhaul"),
        (["HOME": "/"], "/.local/state/longhaul"),
    ])
    func isFoundThroughTheEnvironment(environment: [String: String], path: String) throws {
        #expect(try StateDirectory.resolve(environment: environment) == path)
    }

    @Test func aRelativeChoiceIsMadeAbsolute() throws {
        let path = try StateDirectory.resolve(environment: ["LONGHAUL_HOME": "here/there"])
        #expect(path.hasPrefix("/") && path.hasSuffix("/here/there"))
    }

    /// `sudo -E` keeps the user's HOME.
    @Test(.enabled(if: geteuid() == 0, "skipped: not root"))
    func rootMakesNoneInTheHomeOfAnother() throws {
        let home = try scratch.subdirectory("home")
        func code(_ environment: [String: String]) -> LonghaulError.Code? {
            do throws(LonghaulError) {
                _ = try StateDirectory.resolve(environment: environment)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code(["HOME": home]) == nil)
        try #require(chown(home, 1234, 1234) == 0)
        #expect(code(["HOME": home]) == .storeUnavailable)
        #expect(code(["XDG_STATE_HOME": "\(home)/state", "HOME": "/"]) == .storeUnavailable)
        // A directory that was chosen is right, unless it is the user's own who has called sudo.
        let chosen = ["LONGHAUL_HOME": "\(home)/queue", "HOME": home]
        #expect(code(chosen) == nil)
        #expect(code(chosen.merging(["SUDO_UID": "1000"]) { $1 }) == nil)
        #expect(code(chosen.merging(["SUDO_UID": "1234"]) { $1 }) == .storeUnavailable)
        // One that root has there already goes on.
        try #require(mkdir("\(home)/queue", 0o700) == 0)
        #expect(code(chosen.merging(["SUDO_UID": "1234"]) { $1 }) == nil)
    }

    @Test func withoutAHomeItIsTheUsersEntryThatCounts() throws {
        let home = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_dir) }
        if let home {
            #expect(
                try StateDirectory.resolve(environment: [:])
                    == PathParts.join(home, ".local/state/longhaul"))
        } else {
            let error = #expect(throws: LonghaulError.self) {
                try StateDirectory.resolve(environment: [:])
            }
            #expect(error?.code == .storeUnavailable)
        }
    }
}

@Suite struct ConditionSnapshotTests {
    @Test func theClocksGoOn() {
        let first = SystemClock.now()
        usleep(2_000)
        let second = SystemClock.now()
        #expect(second.monotonic - first.monotonic >= 0.002)
        #expect(abs((second.wall - first.wall) - (second.monotonic - first.monotonic)) < 5)
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        #expect(abs(second.wall.milliseconds / 1_000 - Int64(time.tv_sec)) < 5)
    }

    @Test func knowsTheBoot() throws {
        let text = try smallFile("/proc/sys/kernel/random/boot_id")
        let boot = try #require(BootID.current)
        #expect(BootID(text) == boot && BootID(boot.text) == boot)
        // It is stored.
        #expect(BootID(high: 1, low: 0xABC).text == "00000000000000010000000000000abc")
        #expect(
            BootID("00112233-4455-6677-8899-aabbccddeeff\n")
                == BootID(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF))
    }

    @Test(arguments: [
        "", "0011", "00112233-4455-6677-8899-aabbccddeefg", "+0112233445566778899aabbccddeeff",
    ])
    func refusesWhatIsNoBoot(text: String) {
        #expect(BootID(text) == nil)
    }

    @Test func readsTheEnvironment() {
        setenv("LONGHAUL_TEST_VALUE", "a=b", 1)
        #expect(Environment.value("LONGHAUL_TEST_VALUE") == "a=b")
        #expect(Environment.all()["LONGHAUL_TEST_VALUE"] == "a=b")
        #expect(Environment.value("LONGHAUL_TEST_NO_VALUE") == nil)
    }

    /// Variables of a program need not be text, and are handed on as they are.
    @Test func handsTheEnvironmentOn() throws {
        let scratch = try Scratch()
        setenv("LONGHAUL_TEST_BYTES", [0x63, 0xE9, 0] as [UInt8], 1)
        var environment = Environment.all()
        environment["LONGHAUL_TEST_CHANGED"] = "ä"
        let pid = try BackgroundEngine.spawn(
            executable: "/bin/sh",
            arguments: [
                "-c", "printf %s \"$LONGHAUL_TEST_BYTES$LONGHAUL_TEST_CHANGED\" | od -An -tx1",
            ], environment: environment, log: scratch.path("log"))
        var status: Int32 = -1
        try #require(waitpid(pid, &status, 0) == pid)
        #expect(try scratch.read("log") == " 63 e9 c3 a4\n")
    }

    /// The first that is set decides; those that would be ignored do not.
    @Test func refusesPathsThatAreNoText() {
        let names = (1...3).map { "LONGHAUL_TEST_PATH_\($0)" } + ["XDG_TEST_PATH", "TEST_PATH"]
        func refused() -> String? {
            do {
                try Environment.checkPath(in: names, .storeUnavailable)
                return nil
            } catch {
                #expect(error.code == .storeUnavailable)
                return error.message
            }
        }
        #expect(refused() == nil)
        setenv(names[4], [0x2F, 0xE9, 0] as [UInt8], 1)
        #expect(refused()?.hasPrefix("TEST_PATH is '/\\xE9'") == true)
        #expect(refused()?.contains("set \(names[0]) to") == true)
        setenv(names[3], [0xE9, 0] as [UInt8], 1)
        #expect(refused()?.hasPrefix("TEST_PATH is") == true)
        setenv(names[2], "", 1)
        #expect(refused()?.hasPrefix("TEST_PATH is") == true)
        setenv(names[1], [0xE9, 0] as [UInt8], 1)
        #expect(refused()?.hasPrefix("\(names[1]) is '\\xE9'") == true)
        setenv(names[0], "ä", 1)
        #expect(refused() == nil)
    }

    @Test func randomNumbersDiffer() {
        var random = SystemRandom()
        #expect(Set((1...100).map { _ in random.next() }).count == 100)
    }

    @Test(arguments: [
        (ENOSPC, LonghaulError.Code.noSpace), (EDQUOT, .noSpace), (EACCES, .permission),
        (EPERM, .permission), (EROFS, .permission), (EEXIST, .destinationExists),
        (EFBIG, .tooLarge), (EIO, .io), (ENOENT, .io), (EMFILE, .io), (9_999, .io),
    ])
    func failuresBecomeErrorsThatPeopleUnderstand(number: Int32, code: LonghaulError.Code) {
        let failure = SystemFailure(operation: "open", path: "/a/b", errno: number)
        let error = failure.longhaulError(bytesKept: 12)
        #expect(error.code == code)
        #expect(error.bytesKept == 12)
        #expect(error.message.contains("/a/b"))
        #expect(!error.message.hasSuffix("."))
        #expect(error.retryable == (number == EMFILE))
    }

    @Test func failuresSayWhatWasTried() {
        let failure = SystemFailure(operation: "open", path: "/a", errno: EACCES)
        #expect(failure.description == "open /a: Permission denied")
    }
}
