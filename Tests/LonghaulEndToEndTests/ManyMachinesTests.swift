import Foundation
import Glibc
import LonghaulTestSupport
import Testing

/// One list on several machines: `--shard`, `--report` and `longhaul report`. Each home is a
/// machine.
@Suite(.timeLimit(.minutes(60))) struct ManyMachinesTests {
    private func list(_ urls: [String]) -> String { urls.joined(separator: "\n") + "\n" }

    private func get(
        _ machine: Int, _ home: LonghaulHome, _ input: String, of count: Int = 2
    ) async throws -> CLIProcess.Result {
        try await home.run(
            "get", "-q", "-", "--shard", "\(machine)/\(count)", "--report", "report",
            input: input)
    }

    @Test func eachRequestIsOfOneMachine() async throws {
        let homes = [try LonghaulHome(), try LonghaulHome()]
        try await LoopbackServer.run { server in
            let names = (0..<20).map { "f\($0)" }
            let input = list(names.map { server.url("\($0)?size=1K&etag=v1") })
            for (index, home) in homes.enumerated() {
                let result = try await get(index + 1, home, input)
                #expect(result.status == 0, "\(result)")
            }
            let files = try homes.map {
                try $0.scratch.names(in: "files").filter { $0 != "report" }
            }
            #expect(!files[0].isEmpty && !files[1].isEmpty)
            #expect((files[0] + files[1]).sorted() == names.sorted())
            #expect(server.log.all.count == 20)

            // A shard that is run again fetches nothing, and its report is whole again.
            #expect(try await get(1, homes[0], input).status == 0)
            #expect(server.log.all.count == 20)
            let reports = homes.map { $0.file("report") }
            let text = try await homes[0].start(["report"] + reports).wait()
            #expect(text.status == 0, "\(text)")
            #expect(text.output == "20 completed, 0 failed; 20.0 KiB in 2 runs\n")
            let json = try await homes[0].start(["report", "--json"] + reports).wait()
            let row = try #require(try json.rows.first)
            #expect(row["completed"] == 20 && row["bytes"] == 20480 && row["left"] == 0)
            #expect(row["unfinishedRuns"].items.isEmpty)
        }
    }

    @Test func whatFailedIsInputAgain() async throws {
        let (home, other) = (try LonghaulHome(), try LonghaulHome())
        try home.scratch.write("mine", to: "files/taken")
        try await LoopbackServer.run { server in
            let input = list([
                server.url("good?size=10"), server.url("gone?status=404"),
                server.url("lost?status=404"), server.url("taken?size=10"),
            ])
            let result = try await get(1, home, input, of: 1)
            #expect(result.status == 1, "\(result)")
            let text = try await home.run("report", "report")
            #expect(text.status == 1)
            #expect(
                text.output == """
                    1 completed, 3 failed; 10 B in 1 run
                      2 notFound
                      1 destinationExists

                    """, "\(text)")
            let failed = try await home.run("report", "--failed", "report")
            #expect(failed.output.split(separator: "\n").count == 3)

            // The server has one of them meanwhile; another machine takes them over.
            let again = failed.output.replacing("gone?status=404", with: "gone?size=10")
                .replacing(home.file(""), with: other.file(""))
            #expect(try await get(1, other, again, of: 1).status == 1)
            #expect(try other.scratch.names(in: "files") == ["gone", "report", "taken"])
            // The file that was in the way is gone: the same run again counts once.
            try FileManager.default.removeItem(atPath: home.file("taken"))
            #expect(try await get(1, home, input, of: 1).status == 1)
            let mended = try await home.run("report", "report")
            #expect(mended.output.hasPrefix("2 completed, 2 failed"), "\(mended)")
            let both = try await home.run("report", "report", other.file("report"))
            #expect(both.status == 1, "\(both)")
            #expect(both.output.contains("notFound"))
        }
    }

    @Test func aKilledRunIsNamed() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let input = list([
                server.url("fast?size=10"), server.url("slow?size=10M&rate=10K&etag=v1"),
            ])
            let process = try home.start(
                "get", "-q", "-", "--shard", "1/1", "--report", "report", input: input)
            try await eventually("the first one is in the report") {
                (try? home.scratch.text(of: "files/report").contains("\"completed\"")) == true
            }
            process.send(SIGKILL)
            try await process.wait()
            // The kernel may have cut off the last line.
            let text = try home.scratch.text(of: "files/report")
            try home.scratch.write(text + #"{"state":"com"#, to: "files/report")
            let result = try await home.run("report", "report")
            #expect(result.status == 1)
            #expect(result.output == "1 completed, 0 failed; 10 B in 1 run\n")
            #expect(result.errors.contains("report has no summary"))
        }
    }

    /// The state directory went with its machine; the files are on a shared disk.
    @Test func anotherMachineFetchesWhatIsNotThere() async throws {
        let (lost, other) = (try LonghaulHome(), try LonghaulHome())
        let shared = try lost.scratch.directory("shared")
        try await LoopbackServer.run { server in
            let input = list([
                server.url("fast?size=10"), server.url("slow?size=300K&rate=100K&etag=v1"),
            ])
            let words = [
                "get", "-q", "-", "-d", shared, "--shard", "1/1", "--if-exists", "skip", "--report",
                "\(shared)/report",
            ]
            let process = try lost.start(words, input: input)
            try await eventually("the first one is there, the second one on its way") {
                lost.scratch.exists("shared/fast") && server.log.all.count == 2
            }
            process.send(SIGKILL)
            try await process.wait()
            let result = try await other.start(words, input: input).wait()
            #expect(result.status == 0, "\(result)")
            let report = try await other.run("report", "\(shared)/report")
            #expect(report.output.hasPrefix("2 completed, 0 failed"), "\(report)")
            #expect(server.log.all.count == 3)
        }
    }

    @Test(arguments: [
        ["get", "http://h/a", "--shard", "0/2"], ["get", "http://h/a", "--shard", "3/2"],
        ["get", "http://h/a", "--report", ""], ["get", "http://h/a", "--report", "no/such/place"],
        ["get", "-o", "-", "http://h/a", "--report", "r"],
        ["upload", "f", "http://h/a", "--report", "r"],
        ["report", "nothing"], ["report", "words"], ["report"],
    ])
    func wrongUseRecordsNothing(_ words: [String]) async throws {
        let home = try LonghaulHome()
        try home.scratch.write("no report\n", to: "files/words")
        let result = try await home.start(words).wait()
        #expect(result.status == 64, "\(result)")
        #expect(!result.errors.isEmpty)
        #expect(try await home.run("list", "--json", "--all").output.isEmpty)
    }
}
