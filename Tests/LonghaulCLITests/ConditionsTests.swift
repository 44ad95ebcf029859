import LonghaulTestSupport
import Testing

/// `conditions` by the built program. What the machine itself says differs; what is said by hand
/// does not.
@Suite struct ConditionsTests {
    private let home: LonghaulHome

    init() throws {
        home = try LonghaulHome()
    }

    private func rows(_ arguments: String...) async throws -> [String: JSONValue] {
        let result = try await home.start(["conditions", "--json"] + arguments).wait()
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        let rows = try result.rows
        #expect(
            rows.compactMap { $0["condition"].string } == [
                "power", "battery", "network", "idle", "saver", "mounted",
            ])
        return Dictionary(uniqueKeysWithValues: rows.map { ($0["condition"].string ?? "", $0) })
    }

    @Test func whatIsSetIsShownUntilItIsCleared() async throws {
        let set = try await rows(
            "--set", "power=battery,battery=40,network=metered,idle=no,saver=on,mounted=none")
        #expect(set["power"]?["value"] == .string("battery"))
        #expect(set["battery"]?["value"].int == 40)
        #expect(set["network"]?["value"] == .string("metered"))
        #expect(set["idle"]?["value"] == .bool(false))
        #expect(set["saver"]?["value"] == .string("on"))
        #expect(set.values.allSatisfy { $0["source"] == .string("store") })
        #expect(set.values.allSatisfy { $0["since"].string != nil })
        let changed = try await rows("--set", "battery=unknown")
        #expect(changed["battery"]?["value"] == .null)
        #expect(changed["power"]?["value"] == .string("battery"))
        let cleared = try await rows("--clear")
        #expect(cleared.values.allSatisfy { $0["source"] != .string("store") })
    }

    @Test func theEnvironmentStandsBeforeTheStore() async throws {
        _ = try await rows("--set", "power=battery,idle=yes")
        let told = home.with(["LONGHAUL_CONDITIONS": "power=external"])
        let result = try await told.run("conditions", "--json")
        #expect(try result.rows[0]["value"] == .string("external"))
        #expect(try result.rows[0]["source"] == .string("environment"))
        #expect(try result.rows[3]["source"] == .string("store"))
        let table = try await told.run("conditions")
        #expect(table.output.hasPrefix("CONDITION  VALUE"))
        #expect(table.output.contains("\npower      external   environment"))
    }

    @Test func whatIsNotUnderstoodIsAUsageError() async throws {
        for text in ["power=mains", "battery=101", "nonsense", ""] {
            let result = try await home.run("conditions", "--set", text, "--json")
            #expect(result.status == 64, "\(text)")
            #expect(try result.rows.first?["error"]["code"] == .string("invalidRequest"))
        }
        let told = home.with(["LONGHAUL_CONDITIONS": "power=mains"])
        for command in ["conditions", "run", "list"] {
            let result = try await told.run(command)
            #expect(result.status == 64, "\(command)")
            #expect(result.errors.contains("LONGHAUL_CONDITIONS"))
        }
    }
}
