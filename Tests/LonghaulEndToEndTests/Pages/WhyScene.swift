import Foundation
import LonghaulTestSupport
import Testing

/// How one of the waits on the page comes about.
struct WhyScene: CustomTestStringConvertible, Sendable {
    /// The heading on the page.
    var title: String
    /// The transfer that is asked about.
    var id = 1
    /// What it waits for then.
    var reasons: [String]
    var needsRoot = false
    var play: @Sendable (WhyStage) async throws -> Void

    var testDescription: String { title }

    static var all: [WhyScene] {
        time + conditions + failures + turns + engines + others
    }

    private static let time = [
        WhyScene(title: "earliestBegin: not before a time", reasons: ["earliestBegin"]) { stage in
            try stage.engine()
            try await stage.enqueue("http://192.0.2.1/a.iso", "--earliest", "+2h")
        },
        WhyScene(title: "window: outside of the hours", reasons: ["window"]) { stage in
            // TZ is UTC here; the window is hours away, whatever the time is.
            let hour = Int(Date().timeIntervalSince1970 / 3600) % 24
            let window = String(format: "%02d:00-%02d:00", (hour + 3) % 24, (hour + 8) % 24)
            try stage.engine()
            try await stage.enqueue("http://192.0.2.1/a.iso", "--window", window)
        },
    ]

    /// The stage is set with `conditions --set`, which is as good as the machine's own word.
    private static func given(
        _ title: String, _ conditions: String, _ options: String..., id: Int = 1,
        reasons: [String]
    ) -> WhyScene {
        WhyScene(title: title, id: id, reasons: reasons) { stage in
            try await stage.run("conditions", "--set", conditions)
            try stage.engine()
            let url = "http://192.0.2.1/a.iso"
            let asked = ["enqueue", url, "-o", stage.home.file("a.iso")] + options
            _ = try await stage.home.start(asked).wait()
        }
    }

    private static let conditions = [
        given("power: on battery", "power=battery", "--require", "power", reasons: ["power"]),
        given(
            "battery: too little charge", "power=battery,battery=30", "--require", "battery=50",
            reasons: ["battery"]),
        given("network: offline", "network=offline", reasons: ["network"]),
        WhyScene(title: "network: it has just come", reasons: ["network"]) { stage in
            try await stage.run("conditions", "--set", "network=offline")
            try stage.engine()
            try await stage.enqueue("http://192.0.2.1/a.iso")
            _ = try await stage.why(1, until: ["network"])
            try await stage.run("conditions", "--set", "network=unmetered")
            try await eventually("it settles") {
                try await stage.run("why", "1").output.contains("settled")
            }
        },
        given(
            "unmetered: a metered network", "network=metered", "--require", "unmetered",
            reasons: ["unmetered"]),
        given("idle: the machine is in use", "idle=no", "--require", "idle", reasons: ["idle"]),
        given(
            "saver: the machine saves power", "power=external,network=unmetered,idle=yes,saver=on",
            "--discretionary", reasons: ["saver"]),
        given(
            "mounted: a file system is missing", "mounted=none", "--require", "mounted=backup",
            reasons: ["mounted"]),
        given(
            "network: another one than it names", "network=unmetered:hotspot", "--require",
            "network=home", reasons: ["network"]),
        given(
            "An unknown condition", "power=unknown", "--require", "power", reasons: ["power"]),
        given(
            "Preferences (--prefer, --discretionary)", "power=battery,network=metered,idle=no",
            "--discretionary",
            reasons: ["power", "unmetered", "idle"]),
        WhyScene(title: "Preferences that were waived", reasons: ["power"]) { stage in
            try await stage.run("conditions", "--set", "power=battery,network=metered,idle=no")
            try stage.engine()
            try await stage.enqueue(
                "http://192.0.2.1/a.iso", "--discretionary", "--require", "power",
                "--waive-after", "1s")
        },
    ]

    private static let failures = [
        WhyScene(title: "backoff: an attempt has failed", reasons: ["backoff"]) { stage in
            try stage.engine()
            try await stage.enqueue("http://127.0.0.1:1/a.iso")
        },
        WhyScene(title: "backoff: the server stalls", reasons: ["backoff"]) { stage in
            try stage.engine()
            try await stage.enqueue(
                try stage.url("a.iso?size=10M&etag=v1&stall=64K&stalls=9"), "--stall-timeout",
                "1s")
        },
        WhyScene(title: "backoff: the server asked for a pause", reasons: ["backoff"]) { stage in
            try stage.engine()
            try await stage.enqueue(try stage.url("a.iso?status=503&retryafter=300"))
        },
        WhyScene(
            title: "originCooldown: the server is left alone", id: 2, reasons: ["originCooldown"]
        ) {
            stage in
            try stage.engine()
            try await stage.enqueue(try stage.url("a.iso?status=503&retryafter=300"))
            _ = try await stage.why(1, until: ["backoff"])
            try await stage.enqueue(try stage.url("b.iso?size=1M"))
        },
        WhyScene(title: "storage: the disk is full", reasons: ["storage"], needsRoot: true) {
            stage in
            stage.disk = try OwnDisk(
                memory: "4m", at: stage.home.file("disk"), in: stage.home.scratch)
            try stage.engine()
            _ = try await stage.run(
                "enqueue", try stage.url("a.iso?size=6M&etag=v1&nolength"), "-d",
                stage.home.file("disk"))
        },
        WhyScene(title: "storage: the disk is not mounted", reasons: ["storage"], needsRoot: true) {
            stage in
            let disk = try OwnDisk(memory: "4m", at: stage.home.file("usb"), in: stage.home.scratch)
            stage.disk = disk
            try stage.engine()
            _ = try await stage.run(
                "enqueue", try stage.url("a.iso?size=1M&rate=10K"), "-d", disk.path)
            try await stage.becomes(1, "running")
            try await stage.run("pause", "1")
            disk.detach()
            try await stage.run("resume", "1")
        },
    ]

    private static let turns = [
        WhyScene(title: "concurrency: all places are taken", id: 3, reasons: ["concurrency"]) {
            stage in
            try stage.configure(#"{"limits":{"running":2}}"#)
            try stage.engine()
            for name in ["a", "b"] {
                try await stage.enqueue(try stage.url("\(name).iso?size=100M&rate=100K"))
            }
            try await stage.becomes(2, "running")
            try await stage.enqueue(try stage.url("c.iso?size=100M&rate=100K"))
        },
        WhyScene(
            title: "concurrency: places kept for other transfers", id: 2, reasons: ["concurrency"]
        ) { stage in
            try stage.configure(#"{"limits":{"running":2}}"#)
            try await stage.run(
                "conditions", "--set", "power=external,network=unmetered,idle=yes")
            try stage.engine()
            for name in ["a", "b"] {
                try await stage.enqueue(
                    try stage.url("\(name).iso?size=100M&rate=100K"), "--discretionary")
                try await stage.becomes(1, "running")
            }
        },
        WhyScene(
            title: "originLimit: the server's connections are taken", id: 7,
            reasons: ["originLimit"]
        ) { stage in
            try stage.engine()
            for number in 1...7 {
                try await stage.enqueue(try stage.url("f\(number).iso?size=100M&rate=100K"))
                if number < 7 { try await stage.becomes(number, "running") }
            }
        },
    ]

    private static let engines = [
        WhyScene(title: "engine: none runs", reasons: ["engine"]) { stage in
            try await stage.enqueue("http://192.0.2.1/a.iso")
        },
        WhyScene(title: "engine: it runs other transfers only", id: 2, reasons: ["engine"]) {
            stage in
            try await stage.run(
                "conditions", "--set", "power=external,network=unmetered,idle=yes")
            try await stage.enqueue(
                try stage.url("a.iso?size=100M&rate=100K"), "--discretionary")
            try stage.engine("run", "--only", "discretionary")
            try await stage.becomes(1, "running")
            try await stage.enqueue(try stage.url("b.iso?size=1M"))
        },
        WhyScene(title: "engine: too little time", id: 3, reasons: ["engine"]) { stage in
            try await stage.enqueue(try stage.url("a.iso?size=3M&rate=1M"))
            try await stage.enqueue(try stage.url("b.iso?size=100M&rate=256K"))
            let began = ContinuousClock.now
            try stage.engine("run", "--max-time", "40s")
            try await stage.becomes(1, "completed")
            // What does not fit is begun in the first half of the box, and not in the second.
            try await Task.sleep(until: began + .seconds(21), clock: .continuous)
            try await stage.enqueue(try stage.url("c.iso?size=100M"), "--expect", "100M")
        },
    ]

    private static let others = [
        WhyScene(title: "input: its host has to answer", reasons: ["input"]) { stage in
            let script = try stage.home.scratch.write("#!/bin/sh\n", to: "host.sh")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
            try await stage.run("host", "add", "com.example.host", "--", script)
            try stage.engine()
            try await stage.enqueue(
                try stage.url("a.iso?status=404"), "--session", "s", "--host", "com.example.host")
        },
        WhyScene(title: "Paused", reasons: []) { stage in
            try await stage.enqueue("http://192.0.2.1/a.iso")
            try await stage.run("pause", "1")
        },
        WhyScene(title: "Running", reasons: []) { stage in
            try stage.engine()
            try await stage.enqueue(try stage.url("a.iso?size=100M&rate=100K"))
            try await stage.becomes(1, "running")
            try await eventually("it moves") {
                try await stage.run("why", "1").output.contains("until about")
            }
        },
        WhyScene(title: "Running with an equal transfer", id: 2, reasons: []) { stage in
            try stage.engine()
            let url = try stage.url("a.iso?size=100M&rate=100K")
            try await stage.enqueue(url)
            try await stage.becomes(1, "running")
            try await stage.run(
                "enqueue", url, "-o", stage.home.file("b.iso"), "--window",
                "00:00-00:01")
            try await stage.becomes(2, "running")
            try await eventually("its speed is known") {
                try await stage.run("why", "2").output.contains("until about")
            }
        },
        WhyScene(title: "Failed", reasons: []) { stage in
            try await stage.enqueue(try stage.url("a.iso?status=404"))
            try await stage.run("run", status: 1)
        },
    ]
}
