import Longhaul
import LonghaulPlatform

/// Bundles and their files, for people.
struct BundleText {
    var time: TimeText
    private var waits: WaitText { WaitText(time: time) }

    init(time: TimeText) {
        self.time = time
    }

    func table(_ bundles: [BundleRecord], _ terminal: TerminalFacts) -> [String] {
        let rows = bundles.map { bundle in
            [
                TerminalText.shown(bundle.name), bundle.state.rawValue, files(bundle),
                Units.progress(bundle.bytesDone, of: bundle.bytesTotal),
                TerminalText.shown(bundle.version?.id ?? bundle.latest?.id ?? ""),
                bundle.source.shown,
            ]
        }
        return TableLayout.lines(
            [
                .init(title: "BUNDLE"), .init(title: "STATE"), .init(title: "FILES"),
                .init(title: "BYTES"), .init(title: "VERSION", shrinksTo: 10, dropRank: 1),
                .init(title: "SOURCE", shrinksTo: 12, dropRank: 2),
            ], rows, terminal)
    }

    private func files(_ bundle: BundleRecord) -> String {
        let files = bundle.files
        if files.total == 0 { return "" }
        return files.complete == files.total
            ? Units.count(files.total)
            : "\(Units.count(files.complete))/\(Units.count(files.total))"
    }

    func lines(_ bundle: BundleRecord) -> [String] {
        let facts = [
            TextLine(4, "version", bundle.version.map { version($0) }),
            TextLine(4, "latest", bundle.latest.map { TerminalText.shown($0.id) }),
            TextLine(4, "files", bundle.files.total > 0 ? counts(bundle) : nil),
            TextLine(4, "bytes", Units.progress(bundle.bytesDone, of: bundle.bytesTotal)),
            TextLine(4, "fetched", Units.size(bundle.bytesFetched)),
            TextLine(5, "include", all: bundle.settings.include.map { TerminalText.shown($0) }),
            TextLine(5, "exclude", all: bundle.settings.exclude.map { TerminalText.shown($0) }),
        ]
        return TextLine.ordered(
            TextLine.table(of: bundle, moment: time.full) + facts + reasons(bundle))
    }

    func why(_ bundle: BundleRecord) -> [String] { TextLine.ordered(reasons(bundle)) }

    private func reasons(_ bundle: BundleRecord) -> [TextLine] {
        [
            TextLine(8, "error", bundle.error.map { TerminalText.shown($0.message) }),
            TextLine(9, "waits for", all: bundle.waitingFor.map(waits.long)),
            TextLine(10, "forecast", bundle.forecast.text),
        ]
    }

    private func counts(_ bundle: BundleRecord) -> String {
        let files = bundle.files
        var text = "\(files.complete) of \(files.total)"
        if files.failed > 0 { text += ", \(files.failed) failed" }
        if bundle.passedOver > 0 {
            text += "; \(bundle.passedOver) links and empty directories are passed over"
        }
        return text
    }

    private func version(_ version: BundleRecord.Version) -> String {
        var text = TerminalText.shown(version.id)
        text += version.isProved ? ", all files proved by digests" : ", proved in part by sizes"
        if !version.isAuthentic { text += " that are not authentic" }
        let key = version.signedBy.map { "signed by \(TerminalText.shown($0))" }
        return text + "; " + (key ?? "nothing was signed")
    }

    /// The answer to `check`.
    func versions(_ bundle: BundleRecord) -> String {
        let name = TerminalText.shown(bundle.name)
        let latest = TerminalText.shown(bundle.latest?.id ?? "")
        guard let version = bundle.version else { return "\(name): \(latest); none is here" }
        if version.id == bundle.latest?.id { return "\(name): \(latest), which is here" }
        return "\(name): \(latest) is newer than \(TerminalText.shown(version.id))"
    }

    func line(_ file: BundleFileRecord) -> String {
        var text = DisplayWidth.padded(file.state, to: 10)
        text += DisplayWidth.padded(file.size.map(Units.size) ?? "", to: 10, right: true)
        text += "  " + TerminalText.shown(file.path)
        if let error = file.error { text += ": " + TerminalText.shown(error.message) }
        return text
    }
}
