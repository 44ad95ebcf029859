internal import Logging
internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulPlatform

/// The level that `LONGHAUL_LOG` asks for.
enum JournalLevel {
    private static let off = "off"

    private static var word: String? {
        Environment.value("LONGHAUL_LOG").flatMap { $0.isEmpty ? nil : $0.lowercased() }
    }

    /// - Throws: `invalidRequest` for a word that is no level.
    static func check() throws(LonghaulError) {
        guard let word, word != off, Logger.Level(rawValue: word) == nil else { return }
        let all = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        throw LonghaulError(
            .invalidRequest, "LONGHAUL_LOG: '\(word)' is no level; it is \(off), \(all)")
    }

    /// The level that the environment names, else `standard`; `nil` = no log at all.
    static func wanted(standard: Logger.Level?) -> Logger.Level? {
        guard let word else { return standard }
        return Logger.Level(rawValue: word)
    }
}

extension EngineJournal {
    /// On standard error; `nil` = none is wanted.
    static func wanted(by mode: EngineMode) -> EngineJournal? {
        guard let level = JournalLevel.wanted(standard: mode.journalLevel) else { return nil }
        return EngineJournal(StandardErrorLog.logger(level: level))
    }
}

extension EngineMode {
    /// An engine in the background writes to a file that is read after a failure only.
    fileprivate var journalLevel: Logger.Level? {
        switch self {
        case .daemon: .info
        case .background, .serve: .warning
        case .run, .get, .embedded: nil
        }
    }
}
