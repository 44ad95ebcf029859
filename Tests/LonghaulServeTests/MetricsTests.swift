import Foundation
import LonghaulTestSupport
import Testing

/// The figures at `/metrics`, read as OpenMetrics has them.
@Suite struct MetricsTests {
    /// Samples by name and labels. What is no OpenMetrics is an issue.
    private func samples(_ text: String) -> [String: Double] {
        #expect(text.hasSuffix("\n# EOF\n"))
        var types: [String: String] = [:]
        var samples: [String: Double] = [:]
        var family = ""
        for line in text.split(separator: "\n").dropLast() {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if words[0] == "#" {
                if words[1] == "TYPE" {
                    family = words[2]
                    #expect(["gauge", "histogram", "counter"].contains(words[3]), "\(line)")
                    let known = types.updateValue(words[3], forKey: family)
                    #expect(known == nil, "\(line)")
                } else {
                    #expect(words[1] == "HELP" && words[2] == family, "\(line)")
                }
                continue
            }
            guard let end = line.lastIndex(of: " "), let number = Double(line[end...].dropFirst())
            else {
                Issue.record("\(line) is no sample")
                continue
            }
            let name = line[..<end]
            let (word, labels) = (name.prefix { $0 != "{" }, name.drop { $0 != "{" })
            let parts = labels.split(separator: "\"")
            #expect(parts.isEmpty || parts.count == 3 && parts[2] == "}", "\(line)")
            let suffixes =
                switch types[family] {
                case "histogram": ["_bucket", "_count", "_sum"]
                case "counter": ["_total"]
                default: [""]
                }
            #expect(suffixes.contains { family + $0 == word }, "\(line)")
            let known = samples.updateValue(number, forKey: String(name))
            #expect(known == nil, "\(line)")
        }
        for (name, type) in types where type == "histogram" { check(histogram: name, samples) }
        return samples
    }

    private func check(histogram name: String, _ samples: [String: Double]) {
        let buckets = samples.filter { $0.key.hasPrefix(name + "_bucket") }
        let bounds = buckets.compactMap { key, count -> (Double, Double)? in
            let text = key.split(separator: "\"").dropFirst().first
            return text.flatMap { $0 == "+Inf" ? .infinity : Double($0) }.map { ($0, count) }
        }.sorted { $0.0 < $1.0 }
        #expect(bounds.count == buckets.count && bounds.last?.0 == .infinity, "\(buckets)")
        #expect(bounds.map(\.1) == bounds.map(\.1).sorted(), "\(buckets)")
        #expect(bounds.last?.1 == samples[name + "_count"], "\(buckets)")
        #expect(samples[name + "_sum"].map { $0 >= 0 } == true)
    }

    @Test func theyCanBeScraped() async throws {
        let served = try await ServedHome.start()
        let request = #"{"url":"http://127.0.0.1:9/a","earliestBegin":"2099-01-01T00:00:00Z"}"#
        _ = try served.send("POST", "/v1/transfers", request)
        for (job, command) in [("good", "/bin/true"), ("bad", "/bin/false")] {
            let added = try await served.home.run("job", "add", job, "--", command)
            #expect(added.status == 0, "\(added)")
        }
        var found: [String: Double] = [:]
        try await eventually("both jobs have run") {
            let answer = try served.send("GET", "/metrics")
            #expect(answer.head.contains("application/openmetrics-text"))
            found = samples(answer.body)
            return found["longhaul_launches{result=\"failed\"}", default: 0] >= 1
                && found["longhaul_job_runs{result=\"failure\"}"] != nil
                && found["longhaul_job_runs{result=\"success\"}"] == 1
        }
        #expect(found["longhaul_transfers{state=\"waiting\"}"] == 1)
        #expect(found["longhaul_waiting_transfers{reason=\"earliestBegin\"}"] == 1)
        #expect(found["longhaul_launches{result=\"succeeded\"}"] == 1, "\(found)")
        #expect(found["longhaul_turn_seconds_count", default: 0] > 0, "\(found)")
        #expect(found["longhaul_commit_seconds_count", default: 0] > 0, "\(found)")
        #expect(found["longhaul_commit_seconds_sum", default: 0] > 0, "\(found)")
        try await served.stop()
    }

    /// Counters go on after a restart, and whatever is removed.
    @Test func countersOnlyRise() async throws {
        try await LoopbackServer.run { server in
            let home = try LonghaulHome()
            var served = try await ServedHome.start(home)
            for url in [server.url("a.bin?size=100K"), server.url("b.bin?size=1K&status=404")] {
                _ = try served.send("POST", "/v1/transfers", #"{"url":"\#(url)"}"#)
            }
            try Data(count: 5000).write(to: URL(filePath: home.file("up.bin")))
            let target = server.url("upload/up.bin")
            let upload = #"{"kind":"upload","url":"\#(target)","source":"up.bin","protocol":"put"}"#
            _ = try served.send("POST", "/v1/transfers", upload)
            func read() throws -> [String: Double] {
                samples(try served.send("GET", "/metrics").body)
            }
            try await eventually("all end; \(served.process.errors)") {
                try served.call("aria2.getGlobalStat")["numStopped"] == "3"
            }
            let first = try read()
            #expect(first["longhaul_received_bytes_total"] == 102_400, "\(first)")
            #expect(first["longhaul_sent_bytes_total", default: 0] >= 0)
            #expect(first["longhaul_attempts_total", default: 0] >= 3)
            #expect(first["longhaul_restarts_total"] == 0)
            #expect(first["longhaul_failures_total{code=\"notFound\"}"] == 1, "\(first)")
            #expect(first["longhaul_waits_total{reason=\"backoff\"}"] != nil)
            #expect(try served.call("aria2.purgeDownloadResult") == "OK")
            try await served.stop()
            served = try await ServedHome.start(home)
            let second = try read()
            for (name, value) in first where name.contains("_total") {
                #expect(second[name, default: 0] >= value, "\(name)")
            }
            _ = try served.send(
                "POST", "/v1/transfers", #"{"url":"\#(server.url("c.bin?size=10K"))"}"#)
            try await eventually("another one") {
                try read()["longhaul_received_bytes_total"] == 112_640
            }
            try await served.stop()
        }
    }

    /// Another process is the engine: its times are not known here.
    @Test func onlyTheEngineTellsItsTimes() async throws {
        let served = try await ServedHome.start()
        let other = try await ServedHome.start(served.home)
        let own = samples(try served.send("GET", "/metrics").body)
        #expect(own.keys.contains { $0.hasPrefix("longhaul_turn_seconds") })
        let found = samples(try other.send("GET", "/metrics").body)
        #expect(found["longhaul_engine_running"] == 1)
        #expect(!found.keys.contains { $0.hasPrefix("longhaul_turn_seconds") })
        try await other.stop()
        try await served.stop()
    }
}
