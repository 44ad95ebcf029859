import Foundation
import LonghaulTestSupport
import Testing

/// What README says of aria2 and curl, with the programs themselves. Longhaul's column is what all
/// other tests show.
@Suite(.timeLimit(.minutes(60))) struct PeersTests {
    enum Peer: String, CaseIterable, Sendable {
        case aria2c, curl

        var program: String? { InstalledProgram.find(rawValue) }

        /// Fetches into a file, and goes on where there is one.
        func words(_ url: String, _ file: String) -> [String] {
            switch self {
            case .aria2c:
                ["--no-conf", "-q", "-c", "-m1", "--file-allocation=none", "-d", "/", "-o"]
                    + [String(file.dropFirst()), url]
            case .curl: ["-q", "-sS", "-C", "-", "-o", file, url]
            }
        }
    }

    static let areInstalled = Peer.allCases.allSatisfy { $0.program != nil }

    /// The command twice, the line cut the first time. More than aria2's piece of 1 MiB arrives,
    /// which is the least that it keeps.
    private func cutAndResume(
        _ peer: Peer, _ knobs: String,
        then check: (LoopbackServer, String, CLIProcess.Result, String) throws -> Void
    ) async throws {
        let scratch = try Scratch("peer")
        let file = scratch("file")
        try await LoopbackServer.run { server in
            let url = server.url("file?size=4M&cut=3000K&cuts=1&\(knobs)")
            let program = try #require(peer.program)
            let cut = try await CLIProcess.run(program, peer.words(url, file))
            #expect(cut.status != 0)
            let again = try await CLIProcess.run(program, peer.words(url, file))
            try check(server, url, again, file)
        }
    }

    @Test(.enabled(if: areInstalled, "skipped: aria2 or curl is missing"), arguments: Peer.allCases)
    func aChangedFileIsSplicedAndNoValidatorSent(_ peer: Peer) async throws {
        try await cutAndResume(peer, "etag=v1&lastmod=1700000000&changeafter=1") {
            server, url, again, file in
            #expect(again.status == 0, "\(again.errors)")
            let last = try #require(server.log.requests(for: url).last)
            #expect(last.status == 206)
            #expect(last["If-Range"] == nil)
            for version in 1...2 {
                #expect(throws: WrongContent.self) {
                    try server.expected(url, request: version).verify(file: file)
                }
            }
        }
    }

    @Test(.enabled(if: areInstalled, "skipped: aria2 or curl is missing"), arguments: Peer.allCases)
    func withoutRangesTheyGiveUp(_ peer: Peer) async throws {
        try await cutAndResume(peer, "etag=v1&ignorerange") { _, _, again, _ in
            #expect(again.status == (peer == .curl ? 33 : 8), "\(again.errors)")
        }
    }

    @Test(.enabled(if: areInstalled, "skipped: aria2 or curl is missing"))
    func onlyAria2TakesSeveralConnections() async throws {
        for peer in Peer.allCases {
            let scratch = try Scratch("peer")
            try await LoopbackServer.run { server in
                let url = server.url("file?size=8M&etag=v1&rate=4M")
                let words = peer.words(url, scratch("file"))
                let several = peer == .aria2c ? ["-x4", "-s4", "-k1M"] : []
                let program = try #require(peer.program)
                let result = try await CLIProcess.run(program, several + words)
                #expect(result.status == 0, "\(result.errors)")
                let connections = Set(server.log.requests(for: url).map(\.connection)).count
                #expect(peer == .aria2c ? connections > 1 : connections == 1, "\(connections)")
            }
        }
    }

    @Test(.enabled(if: areInstalled, "skipped: aria2 or curl is missing"))
    func curlSendsABrokenUploadAnew() async throws {
        let server = try await UploadServer.start()
        let scratch = try Scratch("peer")
        let source = Representation(size: 4 << 20, seed: 1)
        try source.write(to: scratch("source"))
        let words = ["-q", "-sS", "-C", "-", "-T", scratch("source")]
        let program = try #require(Peer.curl.program)
        let url = server.url("ietf/a?cut=3000000")
        #expect(try await CLIProcess.run(program, words + [url]).status != 0)
        #expect(try await CLIProcess.run(program, words + [url]).status == 0)
        #expect(try server.log.last?["bytes"].int == source.size)
    }

    /// aria2 writes its queue down when it ends, or at an interval that is asked for.
    @Test(
        .enabled(if: areInstalled, "skipped: aria2 or curl is missing"), arguments: [false, true])
    func aKilledAria2KeepsItsQueueOnlyIfSavedAtAnInterval(_ isSaved: Bool) async throws {
        let scratch = try Scratch("peer")
        try await LoopbackServer.run { server in
            let url = server.url("file?size=4M&etag=v1&rate=64K")
            let interval = isSaved ? ["--save-session-interval=1"] : []
            let session = ["--save-session=\(scratch("session"))"]
            let program = try #require(Peer.aria2c.program)
            let process = try CLIProcess(
                program, session + interval + Peer.aria2c.words(url, scratch("file")))
            try await eventually("it is under way") {
                server.log.requests(for: url).contains { $0.bodyBytesSent > 128 << 10 }
            }
            if isSaved {
                try await eventually("the queue is saved") {
                    (try? scratch.text(of: "session").contains(url)) ?? false
                }
            }
            process.send(SIGKILL)
            #expect(try await process.wait().ending == .signalled(SIGKILL))
            #expect(scratch.exists("session") == isSaved)
        }
    }
}
