import Foundation
import LonghaulTestSupport
import Testing

/// A name with several addresses, of which some are dead.
@Suite(
    .timeLimit(.minutes(60)),
    .enabled(if: OwnMachine.isPossible, "skipped: needs root, ip and network namespaces"))
struct AddressTests {
    /// Each address has half of the time that is left, of half a minute: two dead ones are given up
    /// in time for the third.
    @Test func thoseThatSayNothingArePassedOver() async throws {
        let machine = try OwnMachine()
        let settings = "/etc/netns/\(machine.name)"
        try FileManager.default.createDirectory(
            atPath: settings, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: settings) }
        let other = try OwnMachine()
        try machine.cable("10.92.0.1/24", to: other, "10.92.0.4/24")
        // Nobody has this hardware address.
        for dead in ["10.92.0.2", "10.92.0.3"] {
            try machine.ip("neighbor", "add", dead, "lladdr", "02:00:00:00:00:01", "dev", "eth0")
        }
        try Data("multi on\n".utf8).write(to: URL(fileURLWithPath: settings + "/host.conf"))
        let hosts = (2...4).map { "10.92.0.\($0) many.test\n" }.joined()
        try Data(hosts.utf8).write(to: URL(fileURLWithPath: settings + "/hosts"))
        let server = try await RemoteServer.start(on: other, address: "10.92.0.4")
        let home = try LonghaulHome().with(["LONGHAUL_CONDITIONS": "network=unmetered"])
            .through(machine.launcher())
        let get = try await home.run(
            "get", "--json", "http://many.test:\(server.port)/f/a.bin?size=1K&seed=1", "-o", "a")
        #expect(get.status == 0, "\(get.errors)")
        #expect(try get.rows.last?["attempts"] == 1)
    }
}
