import Foundation
import LonghaulTestSupport
import Testing

/// Events as a list, and as Server-Sent Events.
@Suite struct EventStreamTests {
    @Test func aStreamGoesOnFromTheLastEvent() async throws {
        let served = try await ServedHome.start()
        for name in ["a", "b", "c"] {
            let body =
                #"{"url":"http://127.0.0.1:9/\#(name)","earliestBegin":"2099-01-01T00:00:00Z"}"#
            #expect(try served.send("POST", "/v1/transfers", body).status == 201)
        }
        for id in 1...2 { _ = try served.send("POST", "/v1/transfers/\(id)/cancel") }
        try await eventually("two events") {
            try served.send("GET", "/v1/events").json["events"].items.count == 2
        }
        let events = try served.send("GET", "/v1/events").json["events"]
        let first = try #require(events[0]["seq"].int)
        let client = try Connection(served.port)
        client.write(
            "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                + "Last-Event-ID: \(first)\r\n\r\n")
        let head = client.read(until: "transferID\":2")
        #expect(head.contains("text/event-stream"))
        #expect(!head.contains("id: \(first)\n"))
        #expect(head.contains("id: \(first + 1)\nevent: transferCancelled\ndata: {"))
        let fresh = try Connection(served.port)
        fresh.write(
            "GET /v1/events?after=9007199254740991 HTTP/1.1\r\nHost: localhost\r\n"
                + "Accept: text/event-stream\r\n\r\n")
        #expect(!fresh.read(until: ": longhaul").contains("id: "))
        // What happens later comes by itself.
        _ = try served.send("POST", "/v1/transfers/3/cancel")
        #expect(!fresh.read(until: "\"transferID\":3").contains("\"transferID\":2"))
        let later = client.read(until: "\"transferID\":3")
        #expect(later.contains("event: transferCancelled"))
        #expect(!later.contains("\"transferID\":2"))
        try await served.stop()
    }

    /// HTTP/1.0 knows no chunks.
    @Test(arguments: ["HTTP/1.0", "HTTP/1.0\r\nConnection: keep-alive"])
    func aStreamToAnOldClientIsPlain(version: String) async throws {
        let served = try await ServedHome.start()
        let text = try served.raw(
            "GET /v1/events \(version)\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n",
            until: ": longhaul\n\n")
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1)
        #expect(parts.count == 2 && parts[1].hasPrefix(": longhaul"), "\(text)")
        #expect(!parts[0].lowercased().contains("transfer-encoding"))
        #expect(parts[0].hasPrefix("HTTP/1.0 200") && parts[0].contains("Connection: close"))
        let list = try served.raw("GET /v1/events \(version)\r\nHost: localhost\r\n\r\n")
        #expect(list.contains("Content-Length") && list.hasSuffix("}\n"), "\(list)")
        try await served.stop()
    }

    @Test func eventsAreAcknowledged() async throws {
        let served = try await ServedHome.start()
        let body = #"{"url":"http://127.0.0.1:9/a","earliestBegin":"2099-01-01T00:00:00Z"}"#
        _ = try served.send("POST", "/v1/transfers", body)
        _ = try served.send("POST", "/v1/transfers/1/cancel")
        try await eventually("an event") {
            !(try served.send("GET", "/v1/events").json["events"].items.isEmpty)
        }
        let seq = try #require(try served.send("GET", "/v1/events").json["events"][0]["seq"].int)
        let answer = try served.send("POST", "/v1/events/ack", #"{"through":\#(seq)}"#)
        #expect(try answer.json["acknowledged"] == 1)
        let event = try served.send("GET", "/v1/events").json["events"][0]
        #expect(event["acknowledgedAt"].string != nil)
        try await served.stop()
    }
}
