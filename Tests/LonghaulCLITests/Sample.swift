import Longhaul
import LonghaulCore

@testable import LonghaulCLI

/// Values that the tests draw.
enum Sample {
    /// 2026-03-01T12:00:00Z
    static let now = Timestamp(milliseconds: 1_772_366_400_000)

    static let time = TimeText(now: now) { _ in 0 }

    static func transfer(
        _ id: Int64 = 12, _ state: TransferState = .running, name: String = "debian-12.iso",
        done: Int64 = 0, total: Int64? = nil, rate: Double? = nil
    ) -> Transfer {
        var transfer = Transfer(
            id: TransferID(rawValue: id), state: state, url: "https://example.com/\(name)",
            file: .destination("/home/me/Downloads/\(name)"), session: "default",
            priority: .normal, isDiscretionary: false, createdAt: now + -60)
        transfer.bytesDone = done
        transfer.bytesFetched = done
        transfer.bytesTotal = total
        transfer.bytesPerSecond = rate
        return transfer
    }

    static func terminal(
        columns: Int?, rows: Int = 24, colour: Bool = false, unicode: Bool = true
    ) -> TerminalFacts {
        TerminalFacts(
            isLive: true, columns: columns, rows: rows, hasColour: colour, hasUnicode: unicode)
    }

    static func context(_ directory: String = "/work") -> InputContext {
        InputContext(now: now, secondsFromUTC: { _ in 0 }, directory: .success(directory))
    }

    /// A console that keeps what is written.
    static func console(json: Bool = false) -> Console {
        Console(
            results: ByteStream(descriptor: nil), diagnostics: ByteStream(descriptor: nil),
            isJSON: json)
    }
}

extension ByteStream {
    var text: String { String(decoding: buffer, as: UTF8.self) }
}
