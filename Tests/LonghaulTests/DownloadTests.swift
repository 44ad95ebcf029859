import Foundation
import Longhaul
import LonghaulTestSupport
import Testing

@Suite(.timeLimit(.minutes(60))) struct DownloadTests {
    @Test func aFileArrivesWithItsAnswer() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let name = "a.bin?size=300K&etag=v1&contenttype=image/jpeg"
                var request = server.request(name)
                request.headers["Accept"] = "image/*"
                request.checksum = .sha256(try server.expected(name).sha256.uppercased())
                let task = try await session.download(request, to: home.file("a.bin"))
                let file = try await within { try await task.value }
                #expect(try [UInt8](Data(contentsOf: file.url)) == server.content(name))
                #expect(file.url == home.file("a.bin"))
                #expect(file.response.statusCode == 200)
                #expect(file.response.headers["etag"] == "\"v1\"")
                #expect(file.response.mediaType == "image/jpeg")
                #expect(file.metrics.bytes == 300 << 10)
                #expect(file.metrics.attempts == 1)
                #expect(server.log.all.first?["accept"] == "image/*")
            }
        }
    }

    /// Requests that end with an error, and how many of them are sent.
    private static let refusals = [
        ("a.bin?status=404", 404, 1),
        // The part that is held goes for the page.
        ("a.bin?size=300K&etag=v1&cut=100K&status=404&statusafter=1", 404, 2),
        ("a.bin?status=503", 503, 2),
    ]

    @Test(arguments: refusals)
    func thePageOfAnErrorIsTheFileWhereAsked(name: String, status: Int, count: Int) async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                var request = server.request(name)
                request.checksum = .md5("d41d8cd98f00b204e9800998ecf8427e")
                request.options.retries = 1
                request.options.deliversErrorPages = true
                let task = try await session.download(request, to: home.file("page"))
                let file = try await within { try await task.value }
                let page = try Data(contentsOf: file.url)
                #expect(String(decoding: page, as: UTF8.self) == "status \(status)\n")
                #expect(file.response.statusCode == status)
                #expect(server.log.all.count == count)
                request.options.deliversErrorPages = false
                let plain = try await session.download(request, to: home.file("file"))
                await #expect(throws: LonghaulError.self) {
                    try await within { try await plain.value }
                }
            }
        }
    }

    @Test func progressGoesFromTheStartToTheEnd() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let request = server.request("a.bin?size=4M&stall=2M")
                let task = try await session.download(request, to: home.file("a.bin"))
                let seen = try await within {
                    var seen: [TransferProgress] = []
                    for try await progress in task.progress {
                        seen.append(progress)
                        if progress.bytesDone == 2 << 20 { server.goOn() }
                    }
                    return seen
                }
                #expect(seen.last?.state == .completed)
                #expect(seen.last?.bytesDone == 4 << 20)
                #expect(seen.last?.fractionCompleted == 1)
                #expect(seen.contains { $0.state == .running && $0.bytesDone > 0 })
                #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.bytesDone <= $1.bytesDone })
            }
        }
    }

    /// A program that was killed asks again for what it had asked for.
    @Test func theSameDownloadIsThereOnce() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let request = server.request("a.bin?size=40K&stall=10K")
                let file = home.file("a.bin")
                let first = try await session.download(request, to: file)
                let second = try await session.download(request, to: file)
                let others = try await session.download([(request: request, file: file)])
                #expect(second.id == first.id && others.map(\.id) == [first.id])
                server.goOn()
                let ended = try await within { try await second.value }
                #expect(ended.metrics.bytes == 40 << 10)
            }
        }
    }

    @Test func aFailureIsThrown() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let request = server.request("a.bin?status=404")
                let task = try await session.download(request, to: home.file("a.bin"))
                let error = await #expect(throws: LonghaulError.self) {
                    _ = try await within { try await task.value }
                }
                #expect(error?.code == .notFound)
                #expect(error?.underlying == .http(status: 404))
                #expect(error?.transferID == task.id || error?.transferID == nil)
                #expect(error?.areBytesKept == false)
            }
        }
    }

    @Test func pauseResumeCancelAndWhy() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let request = server.request("a.bin?size=8M&stall=4M&stalls=1&etag=v1")
                let task = try await session.download(request, to: home.file("a.bin"))
                try await within {
                    for try await progress in task.progress where progress.bytesDone > 0 { break }
                }
                try await task.pause()
                try await within {
                    for try await progress in task.progress where progress.state == .paused {
                        break
                    }
                }
                #expect(try await task.explanation.state == .paused)
                try await task.resume()
                let other = try await session.download(
                    server.request("b.bin?size=8M&rate=1M"), to: home.file("b.bin"))
                try await other.cancel()
                let error = await #expect(throws: LonghaulError.self) {
                    _ = try await within { try await other.value }
                }
                #expect(error?.code == .cancelled)
                let file = try await within { try await task.value }
                #expect(file.metrics.bytesFetched == 8 << 20)
            }
        }
    }

    @Test func aRequestThatMakesNoSenseIsRefused() async throws {
        let home = try SessionHome()
        try await home.withSession { session in
            var request = TransferRequest(url: URL(string: "http://127.0.0.1:1/a")!)
            request.checksum = .sha256("12")
            let wrong = request
            await #expect(throws: LonghaulError.self) {
                try await session.download(wrong, to: home.file("a"))
            }
            let gopher = TransferRequest(url: URL(string: "gopher://127.0.0.1/a")!)
            let error = await #expect(throws: LonghaulError.self) {
                try await session.download(gopher, to: home.file("a"))
            }
            #expect(error?.code == .unsupported)
            let tasks = try await session.tasks
            #expect(tasks.isEmpty)
        }
    }

    @Test func theSessionSaysWhatRequestsDoNot() async throws {
        let home = try SessionHome()
        var configuration = home.configuration(.external)
        configuration.isDiscretionary = true
        configuration.timeoutIntervalForRequest = 5
        configuration.timeoutIntervalForResource = 3600
        configuration.allowsExpensiveNetworkAccess = false
        let session = try await BackgroundSession(
            identifier: "com.example.test", configuration: configuration)
        var request = TransferRequest(url: URL(string: "http://127.0.0.1:1/a")!)
        request.earliestBeginDate = .now + 3600
        request.countOfBytesClientExpectsToReceive = 3_200_000_000
        request.priority = .high
        let task = try await session.download(request, to: home.file("a"))
        let transfer = try await task.transfer
        #expect(transfer.isDiscretionary)
        #expect(transfer.stallTimeout == 5)
        #expect(transfer.schedule.requires.unmetered)
        #expect(transfer.expectedBytes == 3_200_000_000)
        #expect(transfer.priority == .high)
        let begin = try #require(transfer.earliestBegin)
        let deadline = try #require(transfer.deadline)
        #expect(abs((deadline - begin) - 3600) < 1)

        request.isDiscretionary = false
        let now = try await session.download(request, to: home.file("b"))
        #expect(try await !now.transfer.isDiscretionary)
        try await session.invalidate()
    }
}
