import Foundation
import LonghaulTestSupport
import Testing

/// A home whose notices go to a program that writes a line for each. While there is a file `wait`
/// it hangs instead.
final class NoticeHome: Sendable {
    let home: LonghaulHome

    init() throws {
        let home = try LonghaulHome()
        // The texts of servers are in the environment alone.
        let script = try home.scratch.write(
            """
            #!/bin/sh
            if [ -e "$(dirname "$0")/wait" ]; then
                : > "$(dirname "$0")/held"
                exec sleep 60
            fi
            printf '%s|' "$LONGHAUL_EVENT" "$LONGHAUL_ID" "$LONGHAUL_NAME" "$LONGHAUL_STATE" \\
                "$LONGHAUL_PATH" "$LONGHAUL_URL" "$LONGHAUL_BYTES" "$LONGHAUL_ERROR" "$*" \\
                >> "$(dirname "$0")/notices"
            echo >> "$(dirname "$0")/notices"

            """, to: "notice")
        #expect(chmod(script, 0o755) == 0)
        try home.scratch.write(
            #"{"notify": {"command": ["\#(script)", "$(touch x)"]}}"#,
            to: "config.json")
        self.home = home.with([
            "LONGHAUL_CONFIG": home.scratch("config.json"),
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere/bus",
        ])
    }

    /// The fields of each notice. A line break in one of them is a blank.
    var notices: [[String]] {
        let text = try? String(contentsOfFile: home.scratch("notices"), encoding: .utf8)
        return (text ?? "").split(separator: "|\n").map {
            $0.replacing("\n", with: " ").split(separator: "|", omittingEmptySubsequences: false)
                .map(String.init)
        }
    }

    /// From now on deliveries hang, until ``deliver()``.
    func hold() throws { try home.scratch.write("", to: "wait") }

    /// A delivery hangs now. It is given up after half a minute: until then a kill repeats it.
    var isHeld: Bool { FileManager.default.fileExists(atPath: home.scratch("held")) }

    func deliver() throws { try FileManager.default.removeItem(atPath: home.scratch("wait")) }
}
