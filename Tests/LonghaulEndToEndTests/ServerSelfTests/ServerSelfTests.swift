import Foundation
import LonghaulTestSupport
import Testing

/// The test server checked with the `curl` command: every other test stands on what is true here.
@Suite(.enabled(if: CurlAnswer.isInstalled, "skipped: no curl"), .timeLimit(.minutes(60)))
struct ServerSelfTests {
    @Test func wholeFilesOverOneConnection() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=300001&seed=7&etag=v1&lastmod=1700000000")
            let answer = try await CurlAnswer.get(url)
            #expect(answer.status == 200)
            #expect(answer.headers["etag"] == "\"v1\"")
            #expect(answer.headers["last-modified"] == "Tue, 14 Nov 2023 22:13:20 GMT")
            #expect(answer.headers["accept-ranges"] == "bytes")
            #expect(answer.headers["content-length"] == "300001")
            #expect(answer.body == (try server.expected(url).bytes))

            let twice = try await CurlAnswer.get(url, "-H", "X-Test:  yes", url)
            #expect(twice.exit == 0)
            let requests = server.log.requests(for: "a.bin")
            #expect(requests.map(\.status) == [200, 200, 200])
            #expect(requests.map(\.bodyBytesSent) == [300_001, 300_001, 300_001])
            #expect(requests.map(\.connection) == [0, 1, 1])
            #expect(requests.map(\.outcome) == [.sent, .sent, .sent])
            #expect(requests[1]["x-test"] == "yes")
            #expect(
                requests[1].head.headers.map(\.name) == ["Host", "User-Agent", "Accept", "X-Test"])
        }
    }

    @Test func headCarriesNoBody() async throws {
        try await LoopbackServer.run { server in
            let answer = try await CurlAnswer.get(server.url("a?size=77&cut=5"), "-I")
            #expect(answer.exit == 0)
            #expect(answer.headers["content-length"] == "77")
            #expect(server.log.all.map(\.bodyBytesSent) == [0])
        }
    }

    @Test(arguments: [
        ("bytes=0-9", 206, "bytes 0-9/100", 0..<10),
        ("bytes=10-", 206, "bytes 10-99/100", 10..<100),
        ("bytes=90-1000", 206, "bytes 90-99/100", 90..<100),
        ("bytes=-7", 206, "bytes 93-99/100", 93..<100),
        ("bytes=-700", 206, "bytes 0-99/100", 0..<100),
        ("Bytes=99-99", 206, "bytes 99-99/100", 99..<100),
        ("bytes=5-4", 200, nil, 0..<100),
        ("bytes=1-2,4-5", 200, nil, 0..<100),
        ("octets=1-2", 200, nil, 0..<100),
        ("bytes=x-2", 200, nil, 0..<100),
    ])
    func ranges(asked: String, status: Int, field: String?, bytes: Range<Int>) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a?size=100")
            let answer = try await CurlAnswer.get(url, "-H", "Range: \(asked)")
            #expect(answer.status == status)
            #expect(answer.headers["content-range"] == field)
            #expect(answer.body == (try server.expected(url).oracle.bytes(bytes)))
        }
    }

    @Test(arguments: [
        ("", "bytes */100"), ("&bad416=50", "bytes */50"), ("&no416range", nil),
    ])
    func unsatisfiable(knobs: String, field: String?) async throws {
        try await LoopbackServer.run { server in
            for range in ["100-", "100-200", "-0"] {
                let answer = try await CurlAnswer.get(server.url("a?size=100\(knobs)"), "-r", range)
                #expect(answer.status == 416)
                #expect(answer.headers["content-range"] == field)
            }
        }
    }

    /// RFC 9110 §13.1.5, and the servers that get it wrong.
    @Test(arguments: [
        ("etag=v1", "\"v1\"", 206),
        ("etag=v1", "\"v2\"", 200),
        ("etag=v1", "W/\"v1\"", 200),
        ("weak=v1", "W/\"v1\"", 200),
        ("etag=v1&lastmod=1700000000", "Tue, 14 Nov 2023 22:13:20 GMT", 206),
        ("etag=v1&lastmod=1700000000", "Tue, 14 Nov 2023 22:13:21 GMT", 200),
        ("lastmod=1700000000&date=1700000000", "Tue, 14 Nov 2023 22:13:20 GMT", 200),
        ("etag=v1&noifrange", "\"v2\"", 206),
        ("etag=v1&ifrangefull", "\"v1\"", 200),
        ("etag=v1&noranges", "\"v1\"", 200),
        ("etag=v1&ignorerange", "\"v1\"", 200),
    ])
    func ifRange(knobs: String, condition: String, status: Int) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a?size=100&\(knobs)")
            let answer = try await CurlAnswer.get(url, "-r", "50-", "-H", "If-Range: \(condition)")
            #expect(answer.status == status)
            #expect(answer.body.count == (status == 206 ? 50 : 100))
        }
    }

    /// A 206 for `bytes=40-59` that lies: the field, the bytes that come, the entity tag.
    @Test(arguments: [
        ("wrongstart=-3", "bytes 37-59/100", 37..<60, "\"v1\""),
        ("wrongstart=4", "bytes 44-59/100", 44..<60, "\"v1\""),
        ("wrongend=5", "bytes 40-64/100", 40..<60, "\"v1\""),
        ("wrongtotal=1", "bytes 40-59/101", 40..<60, "\"v1\""),
        ("wrongunit", "octets 40-59/100", 40..<60, "\"v1\""),
        ("unknowntotal", "bytes 40-59/*", 40..<60, "\"v1\""),
        ("norangeheader", nil, 40..<60, "\"v1\""),
        ("maxrange=5", "bytes 40-44/100", 40..<45, "\"v1\""),
        ("norangeend", "bytes 40-99/100", 40..<100, "\"v1\""),
        ("empty206", "bytes 40-59/100", 0..<0, "\"v1\""),
        ("changedetag", "bytes 40-59/100", 40..<60, "\"another\""),
    ])
    func lies(knob: String, field: String?, bytes: Range<Int>, etag: String) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a?size=100&etag=v1&\(knob)")
            let answer = try await CurlAnswer.get(url, "-r", "40-59")
            #expect(answer.status == 206)
            #expect(answer.headers["content-range"] == field)
            #expect(answer.headers["etag"] == etag)
            #expect(answer.body == (try server.expected(url).oracle.bytes(bytes)))
        }
    }

    @Test func multipartWrapsTheRange() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a?size=100&multipart")
            let answer = try await CurlAnswer.get(url, "-r", "40-59")
            #expect(answer.headers["content-type"] == "multipart/byteranges; boundary=LONGHAUL")
            #expect(answer.headers["content-range"] == nil)
            let part = try server.expected(url).oracle.bytes(40..<60)
            #expect(answer.body.firstRange(of: part) != nil)
            #expect(answer.body.count > 20)
        }
    }

    /// What curl thinks of a body that goes wrong, and how many bytes it kept.
    @Test(arguments: [
        ("cut=60", 18, 60), ("cut=60&cutreset", 56, 60), ("cut=200", 0, 100), ("cut=0", 18, 0),
        ("short=1", 18, 99), ("long=9", 0, 100), ("trailergarbage", 0, 100),
        ("badchunk", 18, 100), ("nolength", 0, 100), ("closelength", 0, 100),
        ("nolength&cut=60", 18, 60), ("drop", 52, 0), ("close", 0, 100), ("interim=2", 0, 100),
        ("drip=40&dripms=5", 0, 100), ("rate=2K", 0, 100), ("delay=50", 0, 100),
        ("headerflood=200", 0, 100), ("bigheader=20000", 0, 100), ("gzip", 0, 100),
    ])
    func accidents(knob: String, exit: Int32, bytes: Int) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a?size=100&\(knob)")
            let answer = try await CurlAnswer.get(url)
            #expect(answer.exit == exit)
            #expect(answer.body == (try server.expected(url).oracle.bytes(0..<bytes)))
            let ended = try await server.log.waitForFinished(1)
            let early = exit == 18 && knob != "drop" || exit == 56 || exit == 52
            #expect(ended[0].outcome == (early || knob == "long=9" ? .cut : .sent))
        }
    }

    @Test func aStallHoldsTheConnection() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a?size=100&stall=30&stalls=1")
            let answer = try await CurlAnswer.get(url, "-m", "0.3")
            #expect(answer.exit == 28)
            #expect(answer.body.count == 30)
            #expect(try await server.log.waitForFinished(1)[0].outcome == .lost)
            #expect(try await CurlAnswer.get(url).body.count == 100)
        }
    }

    @Test func rateIsKept() async throws {
        try await LoopbackServer.run { server in
            let started = ContinuousClock.now
            let answer = try await CurlAnswer.get(server.url("a?size=100K&rate=200K"))
            #expect(answer.body.count == 102_400)
            #expect(started.duration(to: .now) > .milliseconds(400))
        }
    }

    @Test func countersAreKeptPerURL() async throws {
        try await LoopbackServer.run { server in
            let refused = server.url("a?size=10&status=503&statuses=2&retryafter=3")
            let first = try await CurlAnswer.get(refused)
            #expect(first.status == 503)
            #expect(first.headers["retry-after"] == "3")
            #expect(try await CurlAnswer.get(refused).status == 503)
            #expect(try await CurlAnswer.get(refused).status == 200)

            let later = server.url("a?size=10&status=404&statusafter=1&statuses=1")
            #expect(try await CurlAnswer.get(later).status == 200)
            #expect(try await CurlAnswer.get(later).status == 404)
            #expect(try await CurlAnswer.get(later).status == 200)

            let mixed = server.url("b?size=10&status=503&statuses=1&cut=4&cuts=1")
            #expect(try await CurlAnswer.get(mixed).status == 503)
            #expect(try await CurlAnswer.get(mixed).exit == 18)
            #expect(try await CurlAnswer.get(mixed).exit == 0)
        }
    }

    @Test func theFileChangesUnderTheClient() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a?size=10&etag=v1&lastmod=1700000000&changeafter=1&changesize=12")
            let before = try await CurlAnswer.get(url)
            let after = try await CurlAnswer.get(url)
            #expect(before.body == (try server.expected(url).bytes))
            #expect(after.body == (try server.expected(url, request: 2).bytes))
            #expect(after.body.count == 12)
            #expect(after.headers["etag"] == "\"v1-changed\"")
            #expect(after.headers["last-modified"] == "Tue, 14 Nov 2023 23:13:20 GMT")
        }
    }

    @Test func answersInsteadOfTheFile() async throws {
        try await LoopbackServer.run { server in
            let guarded = server.url("a?size=10&auth=\(PercentCoding.encode("me:s:t"))")
            let challenged = try await CurlAnswer.get(guarded)
            #expect(challenged.status == 401)
            #expect(challenged.headers["www-authenticate"] == "Basic realm=\"longhaul\"")
            #expect(try await CurlAnswer.get(guarded, "-u", "me:s:t").status == 200)

            let needy = server.url("a?needheader=\(PercentCoding.encode("X-Key: 7"))")
            #expect(try await CurlAnswer.get(needy).status == 403)
            #expect(try await CurlAnswer.get(needy, "-H", "X-Key: 7").status == 200)

            #expect(try await CurlAnswer.get(server.url("a?304&etag=x")).status == 304)
            #expect(try await CurlAnswer.get(server.url("a?status=204")).status == 204)
            let late = try await CurlAnswer.get(
                server.url("a?status=503&retryafterdate=60&date=1700000000"))
            #expect(late.headers["retry-after"]?.hasSuffix(" GMT") == true)
            #expect(late.headers["date"] == "Tue, 14 Nov 2023 22:13:20 GMT")
        }
    }

    @Test func redirects() async throws {
        try await LoopbackServer.run { server in
            let away = server.url(
                "a?redirectcode=307&redirect=\(PercentCoding.encode("/f/b?size=5"))")
            let stopped = try await CurlAnswer.get(away)
            #expect(stopped.status == 307)
            #expect(stopped.headers["location"] == "/f/b?size=5")
            #expect(try await CurlAnswer.get(away, "-L").body.count == 5)

            let hops = server.url("c?size=6&redirects=3")
            #expect(try await CurlAnswer.get(hops, "-L").body.count == 6)
            #expect(server.log.requests(for: "c").map(\.status) == [302, 302, 302, 200])
        }
    }

    @Test func digestsAndNames() async throws {
        try await LoopbackServer.run { server in
            let name = PercentCoding.encode("attachment; filename=\"x y.bin\"")
            let url = server.url("a?size=10&digest&contentdigest&disposition=\(name)")
            let answer = try await CurlAnswer.get(url, "-r", "2-5")
            let file = try server.expected(url)
            #expect(answer.headers["content-disposition"] == "attachment; filename=\"x y.bin\"")
            let whole = Data(file.oracle.sha256(0..<10)).base64EncodedString()
            #expect(answer.headers["repr-digest"] == "sha-256=:\(whole):")
            let part = Data(file.oracle.sha256(2..<6)).base64EncodedString()
            #expect(answer.headers["content-digest"] == "sha-256=:\(part):")
            let false_ = try await CurlAnswer.get(server.url("a?size=10&baddigest"))
            #expect(false_.headers["repr-digest"]?.contains(whole) == false)
        }
    }

    @Test func headersAreAddedAndTakenAway() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a?header=X-A:%201&header=X-B:2&noheader=date&contenttype=text/x")
            let answer = try await CurlAnswer.get(url)
            #expect(answer.headers["x-a"] == "1")
            #expect(answer.headers["x-b"] == "2")
            #expect(answer.headers["date"] == nil)
            #expect(answer.headers["content-type"] == "text/x")
        }
    }

    @Test(arguments: [
        ("sise=5", "sise"), ("size=five", "size"), ("size=-5", "size"), ("size", "size"),
        ("noranges=1", "noranges"), ("etag=%4", "etag"), ("size=1&size=2", "size"),
        ("status=99", "status"), ("redirectcode=200", "redirectcode"), ("rate=0", "rate"),
        ("needheader=K", "needheader"),
    ])
    func badKnobsAreErrors(query: String, name: String) async throws {
        let server = try await LoopbackServer.start()
        let answer = try await CurlAnswer.get(server.url("a?\(query)"))
        #expect(answer.status == 400)
        #expect(String(decoding: answer.body, as: UTF8.self).contains("'\(name)'"))
        #expect(server.log.badKnobs.map(\.name) == [name])
        await server.stop()

        await #expect(throws: BadKnob.self) {
            try await LoopbackServer.run { server in
                _ = try await CurlAnswer.get(server.url("a?\(query)"))
            }
        }
    }

    @Test func aServerGoesDownAndComesBack() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a?size=1G&stall=1000")
            async let held = CurlAnswer.get(url)
            try await server.log.waitForBytes(1000)
            await server.stop()
            #expect(try await held.exit == 18)
            #expect(try await CurlAnswer.get(server.url("a?size=5")).exit == 7)
            try await server.startAgain()
            #expect(try await CurlAnswer.get(server.url("a?size=5")).body.count == 5)
        }
    }

    @Test func manyConnectionsAtOnce() async throws {
        try await LoopbackServer.run { server in
            try await withThrowingTaskGroup { group in
                for index in 0..<16 {
                    group.addTask {
                        let url = server.url("f\(index)?size=1M&seed=\(index)")
                        let answer = try await CurlAnswer.get(url)
                        #expect(answer.body == (try server.expected(url).bytes))
                    }
                }
                try await group.waitForAll()
            }
            #expect(server.log.connections == 16)
            #expect(server.log.bodyBytesSent() == 16 << 20)
        }
    }
}
