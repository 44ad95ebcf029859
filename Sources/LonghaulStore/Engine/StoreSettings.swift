package import LonghaulModel

/// The rows of `setting`, for clients.
package struct StoreSettings {
    let store: Store

    /// The row with the program of a requested engine that stays.
    ///
    /// A request is recorded before the check whether an engine runs, and every engine reads it
    /// after it has released the lease. So a request that comes while an engine ends is always
    /// noticed.
    static let requestKey = "wantedEngine"

    package func requestEngine(_ executable: String) throws(LonghaulError) {
        if try store.access({ try SettingRows($0).value(of: Self.requestKey) }) == executable {
            return
        }
        try store.write(.relaxed) { try SettingRows($0).set(Self.requestKey, to: executable) }
    }

    /// Removes the request and returns its program; `nil` = there was none.
    package func withdrawEngine() throws(LonghaulError) -> String? {
        // Without a request no write lock is taken.
        if try store.access({ try SettingRows($0).value(of: Self.requestKey) }) == nil {
            return nil
        }
        return try store.write(.relaxed) { connection in
            let executable = try SettingRows(connection).value(of: Self.requestKey)
            try SettingRows(connection).remove(Self.requestKey)
            return executable
        }
    }

    /// Records a notice; `true` at the first call for it.
    package func noteOnce(_ notice: String) throws(LonghaulError) -> Bool {
        let key = "told.\(notice)"
        if try store.access({ try SettingRows($0).value(of: key) }) != nil { return false }
        try store.write(.relaxed) { try SettingRows($0).set(key, to: "1") }
        return true
    }

    /// The conditions and limits of the last engine; valid while it runs.
    package func engineView() throws(LonghaulError) -> EngineView? {
        let text = try store.access { try SettingRows($0).value(of: ConditionsRecord.key) }
        return text.flatMap(ConditionsRecord.read)
    }

    /// The totals so far; one that is missing is 0.
    package func totals() throws(LonghaulError) -> [LifetimeTotal: Int64] {
        let rows = try store.access {
            try $0.all("SELECT substr(key, 7), value FROM setting WHERE key GLOB 'total.*'") {
                (name: $0[0] as String, value: $0[1] as String)
            }
        }
        var totals: [LifetimeTotal: Int64] = [:]
        for row in rows {
            // A row that cannot be read counts as none.
            guard let total = LifetimeTotal(name: row.name), let value = Int64(row.value) else {
                continue
            }
            totals[total] = value
        }
        return totals
    }

    /// Preserves durations when the clock is set: a machine without a battery-backed clock starts
    /// years in the past, and once it has asked for the time, all deadlines recorded before would
    /// have passed. To be called by the process that sees the new clock first, before it writes
    /// times.
    package func follow(_ clock: ClockMark, now: Timestamp) throws(LonghaulError) {
        let isKnown = try store.access { try StoredClock($0).mark() }.map {
            $0.boot == clock.boot && clock.jump(since: $0) == nil
        }
        if isKnown ?? false { return }
        try store.write(.durable) { try StoredClock($0).follow(clock, now: now) }
    }

    private static let limitKey = "rateLimit"

    /// The rate limit that was set by hand, also where it has ended. A row that cannot be read
    /// counts as none.
    package func rateLimit() throws(LonghaulError) -> RateOverride? {
        try store.access { try SettingRows($0).value(of: Self.limitKey) }
            .flatMap(RateOverride.init(stored:))
    }

    /// Stores the limit; `nil` removes it.
    package func setRateLimit(_ limit: RateOverride?) throws(LonghaulError) {
        try store.write(.durable) { connection in
            if let limit {
                try SettingRows(connection).set(Self.limitKey, to: limit.stored)
            } else {
                try SettingRows(connection).remove(Self.limitKey)
            }
        }
    }

    /// The stored override. A row that cannot be read counts as none.
    package func keptOverride() throws(LonghaulError) -> KeptOverride {
        let rows = try store.access {
            try $0.all("SELECT key, value FROM setting WHERE key GLOB 'condition.*'") {
                (key: $0[0] as String, value: $0[1] as String)
            }
        }
        var kept = KeptOverride()
        for row in rows {
            // A name may have blanks.
            guard let kind = ConditionKind(rawValue: String(row.key.dropFirst("condition.".count))),
                let blank = row.value.lastIndex(of: " "),
                let at = Int64(row.value[row.value.index(after: blank)...]),
                kept.override.set(kind, to: row.value[..<blank])
            else { continue }
            kept.since[kind] = Timestamp(milliseconds: at)
        }
        return kept
    }

    /// Stores the conditions of `override`; others remain unchanged.
    package func keep(_ override: ConditionOverride, now: Timestamp) throws(LonghaulError) {
        try store.write(.durable) { connection in
            for kind in ConditionKind.allCases {
                guard let text = override.text(of: kind) else { continue }
                try SettingRows(connection).set(
                    "condition.\(kind.rawValue)", to: "\(text) \(now.milliseconds)")
            }
        }
    }

    /// Removes all stored overrides.
    package func clearOverride() throws(LonghaulError) {
        try store.write(.durable) { try $0.run("DELETE FROM setting WHERE key GLOB 'condition.*'") }
    }
}

/// The networks that were given names, as rows of `setting`.
extension StoreSettings {
    private static let networkPrefix = "network."

    /// A row that cannot be read counts as none.
    package func networks() throws(LonghaulError) -> [String: NetworkPlace] {
        let rows = try store.access {
            try $0.all("SELECT key, value FROM setting WHERE key GLOB 'network.*'") {
                (key: $0[0] as String, value: $0[1] as String)
            }
        }
        var networks: [String: NetworkPlace] = [:]
        for row in rows {
            networks[String(row.key.dropFirst(Self.networkPrefix.count))] =
                StoredJSON.decode(NetworkPlace.self, row.value)
        }
        return networks
    }

    /// Gives a name; `nil` takes it away.
    ///
    /// - Returns: Whether the name was given before.
    @discardableResult
    package func setNetwork(
        _ name: String, to place: NetworkPlace?
    ) throws(LonghaulError) -> Bool {
        let key = Self.networkPrefix + name
        return try store.write(.durable) { connection in
            let rows = SettingRows(connection)
            let isKnown = try rows.value(of: key) != nil
            if let place {
                try rows.set(key, to: StoredJSON.encode(place))
            } else {
                try rows.remove(key)
            }
            return isKnown
        }
    }
}

extension Store {
    /// Records besides transfers.
    package var settings: StoreSettings { StoreSettings(store: self) }
}
