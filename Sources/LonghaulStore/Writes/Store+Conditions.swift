package import LonghaulCore

/// The override of conditions that is kept in the store: a row of `setting` for each condition,
/// `condition.NAME`, with the value and when it was set.
extension Store {
    /// The stored override. A row that cannot be read counts as none.
    package func keptOverride() throws(LonghaulError) -> KeptOverride {
        let rows = try access {
            try $0.all("SELECT key, value FROM setting WHERE key GLOB 'condition.*'") {
                (key: $0.text(0), value: $0.text(1))
            }
        }
        var kept = KeptOverride()
        for row in rows {
            let parts = row.value.split(separator: " ")
            guard let kind = ConditionKind(rawValue: String(row.key.dropFirst("condition.".count))),
                parts.count == 2, let at = Int64(parts[1]), kept.override.set(kind, to: parts[0])
            else { continue }
            kept.since[kind] = Timestamp(milliseconds: at)
        }
        return kept
    }

    /// Stores the conditions of `override`; others stay as they are.
    package func keep(_ override: ConditionOverride, now: Timestamp) throws(LonghaulError) {
        try write(.durable) { connection in
            for kind in ConditionKind.allCases {
                guard let text = override.text(of: kind) else { continue }
                try connection.set(
                    "condition.\(kind.rawValue)", to: "\(text) \(now.milliseconds)")
            }
        }
    }

    /// Removes all stored overrides.
    package func clearOverride() throws(LonghaulError) {
        try write(.durable) { try $0.run("DELETE FROM setting WHERE key GLOB 'condition.*'") }
    }
}
