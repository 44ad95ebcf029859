import Longhaul
import LonghaulPlatform

/// Watched folders, for people.
enum FolderText {
    static func table(_ folders: [FolderRecord], _ terminal: TerminalFacts) -> [String] {
        let rows = folders.map { folder in
            [
                TerminalText.shown(folder.name), folder.state.rawValue,
                Units.count(folder.waiting), Units.count(folder.uploaded),
                Units.count(folder.failed), TerminalText.shown(folder.settings.directory),
                Redaction.url(folder.settings.askedURL),
            ]
        }
        return TableLayout.lines(
            [
                .init(title: "FOLDER"), .init(title: "STATE"), .init(title: "WAITING"),
                .init(title: "UPLOADED"), .init(title: "FAILED"),
                .init(title: "DIRECTORY", shrinksTo: 12, dropRank: 1),
                .init(title: "URL", shrinksTo: 12, dropRank: 2),
            ], rows, terminal)
    }

    static func lines(_ folder: FolderRecord, _ time: TimeText) -> [String] {
        let settings = folder.settings
        let patterns = [
            TextLine(5, "include", all: settings.include.map { TerminalText.shown($0) }),
            TextLine(5, "exclude", all: settings.exclude.map { TerminalText.shown($0) }),
        ]
        return TextLine.ordered(
            TextLine.table(of: folder, moment: time.full) + patterns + reasons(folder, time))
    }

    static func why(_ folder: FolderRecord, _ time: TimeText) -> [String] {
        TextLine.ordered(reasons(folder, time))
    }

    private static func reasons(_ folder: FolderRecord, _ time: TimeText) -> [TextLine] {
        let waits = WaitText(time: time)
        let interval = folder.scansBecause.map { "every 10 minutes: " + $0 }
        return [
            TextLine(7, "scanned", interval),
            TextLine(8, "error", folder.error.map { TerminalText.shown($0.message) }),
            TextLine(9, "waits for", all: folder.waitingFor.map(waits.long)),
            TextLine(10, "forecast", folder.forecast),
        ]
    }
}
