import Foundation
import LonghaulTestSupport
import Testing

/// Sets of files are whole, or an error.
@Suite struct BundleTests {
    @Test func aSetIsFetchedOnceAndIsWhole() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let files = [
                try home.file("a.bin", "a?size=200K&seed=1"),
                try home.file("sub/deep/b.bin", "b?size=1K&seed=2"),
                try home.file("same.bin", "c?size=200K&seed=1"),
                try home.file("empty", "d?size=0"),
            ]
            try home.write(files)
            let got = try await home.run("get", "list:\(home.list)", "-d", home.home.file("out"))
            #expect(got.output == home.home.file("out") + "\n")
            let out = home.home.file("out")
            try home.verify(files, in: out)
            #expect(try home.names(in: out).filter { $0.contains("longhaul") }.isEmpty)
            // Equal digests are one fetch.
            #expect(Set(home.asked) == ["a", "b", "d"] && home.asked.count == 3)
            let bundle = try await home.bundle("list")
            #expect(bundle["state"] == "ready")
            #expect(bundle["version"]["proved"] == true)
            #expect(bundle["files"]["complete"] == 4)
            #expect(bundle["bytesDone"] == bundle["bytesTotal"])
            _ = try await home.run("get", "list:\(home.list)", "-d", out)
            #expect(home.asked.count == 3)
        }
    }

    @Test func whatIsMissingOrShorterIsFetchedAgain() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let files = try (1...6).map {
                try home.file("\($0)", "f\($0)?size=20K&seed=\($0)")
            }
            try home.write(files)
            let out = home.home.file("out")
            let get = ["get", "list:\(home.list)", "-d", out]
            _ = try await home.run(get[0], get[1], get[2], get[3])
            unlink("\(out)/2")
            truncate("\(out)/5", 100)
            _ = try await home.run(get[0], get[1], get[2], get[3])
            #expect(home.asked.dropFirst(6).sorted() == ["f2", "f5"])
            try home.verify(files, in: out)
        }
    }

    @Test func aChangedFileIsNamedAndReplacedOnlyWhenAskedTo() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let files = try (1...3).map {
                try home.file("\($0)", "f\($0)?size=20K&seed=\($0)")
            }
            try home.write(files)
            let out = home.home.file("out")
            _ = try await home.run("bundle", "add", "b", "list:\(home.list)", "--to", out)
            _ = try await home.run("bundle", "ensure", "b")
            try home.flip("\(out)/2")
            let verified = try await home.run("bundle", "verify", "b", "--json", status: 1)
            #expect(try verified.rows.map { $0["path"] } == ["2"])
            #expect(try verified.rows.map { $0["problem"] } == ["digest"])
            #expect(try await home.bundle("b")["state"] != "ready")
            let ensured = try await home.run("bundle", "ensure", "b", status: 1)
            #expect(ensured.errors.contains("\(out)/2"))
            #expect(home.asked.count == 3)
            _ = try await home.run("bundle", "verify", "b", "--repair")
            #expect(home.asked.dropFirst(3) == ["f2"])
            try home.verify(files, in: out)
            _ = try await home.run("bundle", "verify", "b")
        }
    }

    @Test func aWrongDigestIsFetchedTwiceAndFailsAloneWithItsName() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            var files = try (1...3).map {
                try home.file("\($0)", "f\($0)?size=20K&seed=\($0)")
            }
            files[1].sha256 = files[0].content.sha256
            files[1].path = "wrong"
            files[0].sha256 = files[2].content.sha256
            try home.write(files)
            let got = try await home.run(
                "get", "list:\(home.list)", "-d", home.home.file("out"), "--json", status: 1)
            #expect(try got.rows.first?["error"]["code"] == "checksumMismatch")
            let asked = home.asked
            #expect(asked.filter { $0 == "f1" }.count == 2)
            #expect(asked.filter { $0 == "f2" }.count == 2)
            let bundle = try await home.bundle("list")
            #expect(bundle["state"] == "failed" && bundle["version"] == .null)
            #expect(bundle["files"]["complete"] == 1 && bundle["files"]["failed"] == 2)
        }
    }

    @Test(arguments: [
        "../x", "/etc/x", "a/../../x", "", "a//b", "./a", "a\\u0000b", "a\\nb",
    ])
    func aNameThatLeadsOutsideRefusesTheList(name: String) async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let good = try home.file("good", "f?size=1K")
            let bad = #"{"path":"\#(name)","url":"\#(server.url("g?size=1K"))"}"#
            try (good.line + "\n" + bad + "\n").write(
                toFile: home.list, atomically: true, encoding: .utf8)
            let got = try await home.run(
                "get", "list:\(home.list)", "-d", home.home.file("out"), status: 5)
            #expect(got.errors.contains("line 2"))
            #expect(home.asked.isEmpty)
            #expect(!FileManager.default.fileExists(atPath: home.home.file("out")))
        }
    }

    @Test func versionsAreSwitchedByOneLinkAndHeldOnesStay() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let out = home.home.file("out")
            func ensure(_ seed: Int) async throws -> String {
                try home.write([
                    try home.file("same", "same?size=9K&seed=100"),
                    try home.file("new", "f\(seed)?size=9K&seed=\(seed)"),
                ])
                _ = try await home.run("bundle", "ensure", "b", "--latest")
                let path = try await home.run("bundle", "path", "b").output
                return String(path.dropLast())
            }
            try home.write([try home.file("new", "f1?size=9K&seed=1")])
            _ = try await home.run(
                "bundle", "add", "b", "list:\(home.list)", "--to", out, "--layout", "versions",
                "--keep", "0", "--policy", "on-demand")
            let first = try await ensure(1)
            let current = try FileManager.default.destinationOfSymbolicLink(
                atPath: "\(out)/current")
            #expect(first == "\(out)/\(current)")
            let holder = try home.home.start("bundle", "hold", "b", "--", "sleep", "600")
            try await eventually("it is held") {
                try await !home.home.stored("SELECT 1 FROM bundleHold").isEmpty
            }
            let second = try await ensure(2)
            let third = try await ensure(3)
            #expect(Set([first, second, third]).count == 3)
            #expect(FileManager.default.fileExists(atPath: "\(first)/new"))
            #expect(!FileManager.default.fileExists(atPath: second))
            #expect(FileManager.default.fileExists(atPath: "\(third)/same"))
            // The file that all versions have was fetched once.
            #expect(home.asked.filter { $0 == "same" }.count == 1)
            holder.send(SIGTERM)
            _ = try await holder.wait()
            _ = try await ensure(4)
            #expect(!FileManager.default.fileExists(atPath: first))
        }
    }

    @Test func aNewerVersionReplacesFilesAndKeepsThoseThatSomebodyChanged() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let out = home.home.file("out")
            try home.write([
                try home.file("stays", "s?size=9K&seed=1"),
                try home.file("changes", "c?size=9K&seed=2"),
                try home.file("goes", "g?size=9K&seed=3"),
                try home.file("dir/mine", "m?size=9K&seed=4"),
            ])
            _ = try await home.run("get", "list:\(home.list)", "-d", out)
            try home.flip("\(out)/dir/mine")
            let files = [
                try home.file("stays", "s?size=9K&seed=1"),
                try home.file("changes", "c2?size=8K&seed=5"),
            ]
            try home.write(files)
            let checked = try await home.run("bundle", "check", "list", "--json")
            #expect(try checked.rows.first?["changed"] == true)
            #expect(try await home.bundle("list")["state"] == "outdated")
            _ = try await home.run("get", "list:\(home.list)", "-d", out)
            try home.verify(files, in: out)
            #expect(try home.names(in: out) == ["changes", "dir", "dir/mine", "stays"])
            #expect(home.asked.filter { $0 == "s" }.count == 1)
        }
    }

    /// The bytes are here, but not as many as the list says.
    @Test func aCopyHasTheSizeOfTheList() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let out = home.home.file("out")
            let file = try home.file("a", "a?size=9K&seed=1")
            let lie = file.line.replacing(#""a""#, with: #""b""#).replacing("9216", with: "9215")
            try "\(file.line)\n\(lie)\n".write(
                toFile: home.list, atomically: true, encoding: .utf8)
            let got = try await home.run(
                "get", "list:\(home.list)", "-d", out, "--json", status: 1)
            #expect(try got.rows.first?["state"] == "failed")
            #expect(try home.names(in: out) == ["a"])
        }
    }

    /// The place was empty when the transfer began.
    @Test func aFileThatAppearsMeanwhileStays() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let out = home.home.file("out")
            let knobs = "size=9K&status=503&statuses=1&retryafter=3600"
            let files = [
                try home.file("other", "o?\(knobs)&seed=1"),
                try home.file("equal", "e?\(knobs)&seed=2"),
            ]
            try home.write(files)
            _ = try await home.run(
                "bundle", "add", "set", "list:\(home.list)", "--to", out, "--no-start")
            let engine = try home.home.start("daemon")
            try await eventually("both were asked for") { home.asked.count == 2 }
            try FileManager.default.createDirectory(
                atPath: out, withIntermediateDirectories: true)
            // A shorter one counts as damaged.
            let mine = String(repeating: "mine", count: 3_000)
            try mine.write(toFile: "\(out)/other", atomically: true, encoding: .utf8)
            let equal = files[1].content
            try Data(equal.oracle.bytes(0..<equal.size)).write(to: URL(filePath: "\(out)/equal"))
            _ = try await home.run("bundle", "now", "set")
            try await eventually("it ends") {
                try await home.bundle("set")["state"] == "failed"
            }
            #expect(try String(contentsOfFile: "\(out)/other", encoding: .utf8) == mine)
            let shown = try await home.run("bundle", "show", "set", "--files", "--json").rows
            let other = shown.first { $0["path"] == "other" }
            #expect(other?["error"]["code"] == "destinationExists")
            #expect(shown.first { $0["path"] == "equal" }?["state"] == "complete")
            engine.send(SIGTERM)
            #expect(try await engine.wait().status == 0)
        }
    }

    /// As many files as before are another set all the same.
    @Test(arguments: ["plain", "versions"])
    func otherPatternsSelectOtherFiles(_ layout: String) async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let out = home.home.file("out")
            try home.write([
                try home.file("a.bin", "a?size=3K&seed=1"), try home.file("b.txt", "b?size=4K"),
                try home.file("c", "c?size=5K&seed=3"),
            ])
            func names(in directory: String) throws -> [String] {
                try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
            }
            func add(_ glob: String) async throws {
                _ = try await home.run(
                    "bundle", "add", "b", "list:\(home.list)", "--to", out, "--layout", layout,
                    "--include", "c", "--include", glob)
                _ = try await home.run("bundle", "ensure", "b")
            }
            let shown = layout == "plain" ? out : "\(out)/current"
            try await add("*.bin")
            #expect(try names(in: shown) == ["a.bin", "c"])
            try await add("*.txt")
            #expect(try names(in: shown) == ["b.txt", "c"])
            _ = try await home.run("bundle", "verify", "b")
            #expect(home.asked == ["a", "c", "b"] || home.asked == ["c", "a", "b"])
        }
    }

    @Test func twoBundlesWithOneDigestFetchItOnce() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            for name in ["a", "b"] {
                try home.write([try home.file("x", "\(name)?size=300K&seed=7")])
                try FileManager.default.moveItem(
                    atPath: home.list, toPath: home.home.file("\(name).jsonl"))
                _ = try await home.run(
                    "bundle", "add", name, "list:\(home.home.file("\(name).jsonl"))", "--to",
                    home.home.file(name))
            }
            _ = try await home.run("bundle", "ensure", "a", "b")
            #expect(home.asked.count == 1)
            for name in ["a", "b"] {
                try home.file("x", "\(name)?size=300K&seed=7").content.verify(
                    file: home.home.file("\(name)/x"))
            }
        }
    }

    @Test func aWholeBundleNeedsNoNetworkAndAnotherTellsThatTimeIsOver() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            try home.write([try home.file("x", "x?size=3K")])
            _ = try await home.run("get", "list:\(home.list)", "-d", home.home.file("out"))
            await server.stop()
            _ = try await home.run("bundle", "ensure", "list")
            unlink(home.home.file("out/x"))
            _ = try await home.run("bundle", "ensure", "list", "--timeout", "2s", status: 3)
            let unknown = try await home.run("bundle", "ensure", "other", "--json", status: 4)
            #expect(try unknown.rows.first?["error"]["code"] == "noSuchBundle")
        }
    }

    @Test func programsHearOfTheBundleAndOfFilesOnlyWhenAskedTo() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            try home.write([try home.file("x", "x?size=3K"), try home.file("y", "y?size=4K")])
            func waiting(_ name: String, _ option: String...) async throws -> [JSONValue] {
                _ = try await home.home.start(
                    ["bundle", "add", name, "list:\(home.list)", "--to", home.home.file(name)]
                        + option
                ).wait()
                _ = try await home.run("bundle", "ensure", name)
                return try await home.run(
                    "events", "--session", "bundle:\(name)", "--unacknowledged"
                )
                .rows.map { $0["type"] }
            }
            #expect(try await waiting("a") == ["bundleReady"])
            let all = try await waiting("b", "--file-events")
            #expect(all.contains("bundleReady"))
        }
    }

    @Test func aRemovedBundleTakesItsFilesAlongAndNobodyElses() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            try home.write([
                try home.file("x", "x?size=3K&seed=1"), try home.file("sub/y", "y?size=4K&seed=2"),
            ])
            let out = home.home.file("out")
            _ = try await home.run("get", "list:\(home.list)", "-d", out)
            try home.flip("\(out)/x")
            _ = try await home.run("bundle", "remove", "list")
            #expect(try home.names(in: out) == ["x"])
            _ = try await home.run("bundle", "show", "list", status: 4)
            #expect(try await home.run("list", "--all", "--json").rows.isEmpty)
        }
    }

    @Test func anotherBundlesNameOrDirectoryIsRefused() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            try home.write([try home.file("x", "x?size=3K")])
            let (list, out) = ("list:\(home.list)", home.home.file("out"))
            _ = try await home.run("bundle", "add", "a", list, "--to", out)
            _ = try await home.run("bundle", "add", "a", list, "--to", out)
            _ = try await home.run(
                "bundle", "add", "a", list, "--to", home.home.file("other"), status: 5)
            _ = try await home.run("bundle", "add", "b", list, "--to", out, status: 5)
            _ = try await home.run(
                "bundle", "add", "b", list, "--to", out, "--keep", "2", status: 64)
            _ = try await home.run("bundle", "add", "b", "nothing:x", status: 64)
            _ = try await home.run("bundle", "add", "b", "s3://bucket/prefix/", status: 5)
            #expect(try await home.run("bundle", "list", "--json").rows.count == 1)
        }
    }

    @Test func aPausedBundleFetchesNothingUntilItIsResumed() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let files = [try home.file("x", "x?size=3K")]
            try home.write(files)
            let out = home.home.file("out")
            _ = try await home.run("bundle", "add", "a", "list:\(home.list)", "--to", out)
            _ = try await home.run("bundle", "pause", "a")
            _ = try await home.run("run")
            #expect(home.asked.isEmpty)
            #expect(try await home.bundle("a")["state"] == "paused")
            _ = try await home.run("bundle", "resume", "a")
            _ = try await home.run("run")
            try home.verify(files, in: out)
            #expect(try await home.bundle("a")["state"] == "ready")
        }
    }

    @Test(.enabled(if: OwnDisk.hasLoops)) func aFullDiskIsSaidBeforeAFileIsAskedFor() async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let disk = try OwnDisk(ext4: 8 << 20, at: home.home.file("disk"))
            try home.write([try home.file("x", "x?size=64M"), try home.file("y", "y?size=1K")])
            let got = try await home.run(
                "get", "list:\(home.list)", "-d", "\(disk.path)/out", "--json", status: 1)
            #expect(try got.rows.first?["error"]["code"] == "noSpace")
            #expect(home.asked.isEmpty)
            disk.unmount()
        }
    }
}
