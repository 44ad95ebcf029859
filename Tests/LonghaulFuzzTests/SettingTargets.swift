@testable import Longhaul
@testable import LonghaulCore
@testable import LonghaulModel
@testable import LonghaulPlatform

let settingTargets: [FuzzTarget] = [
    FuzzTarget("configuration", configuration),
    FuzzTarget("calendar", text: calendar),
    FuzzTarget("zone", zone),
    FuzzTarget("cron", text: cron),
    FuzzTarget("aws", text: aws),
    FuzzTarget("secrets", text: secrets),
    FuzzTarget("docker", docker),
    FuzzTarget("system", text: system),
]

private func configuration(_ bytes: [UInt8]) throws {
    do {
        _ = try ConfigurationFile.parse(bytes, "/c")
    } catch {
        try check(error.message.utf8.count <= bytes.count * 8 + 4_096, "a long message")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    if let conditions = try? ConditionOverride(parsing: text) {
        for kind in ConditionKind.allCases {
            guard let value = conditions.text(of: kind) else { continue }
            var again = ConditionOverride()
            try check(again.set(kind, to: value), "'\(value)' is not read again")
        }
    }
}

/// Windows, days, moments and durations, at any moment and in a zone of the input.
private func calendar(_ text: String) throws {
    let lines = text.byteLines.map(String.init)
    let zone = lines.dropFirst().first.flatMap { ZoneRules(posix: $0) } ?? .utc
    let time = LocalTime { zone.secondsFromUTC($0) }
    let second = lines.dropFirst(2).first.flatMap { Int64($0) } ?? 1_795_939_200
    let now = Timestamp(milliseconds: min(max(second, -4_000_000_000), 253_402_300_799) * 1000)
    if let windows = TimeWindows(parsing: lines[0]) {
        try checkRoundTrip(windows, TimeWindows(parsing: windows.description))
        let phase = windows.phase(at: now, time)
        try check(phase.since <= now && now < phase.until, "\(phase) at \(now)")
    }
    if let windows = TimeWindows(stored: lines[0]) {
        try checkRoundTrip(windows, TimeWindows(stored: windows.stored))
    }
    if let daily = DailyMoment(parsing: lines[0]) {
        let next = daily.next(after: now, time)
        try check(now < next, "\(next) is not after \(now)")
    }
    if let moments = CalendarMoments(parsing: lines[0]) {
        try checkRoundTrip(moments, CalendarMoments(parsing: moments.description))
        if let next = moments.next(after: now, time) {
            try check(now < next, "\(next) is not after \(now)")
            let again = moments.next(after: next + -0.001, time)
            try check(again == next, "\(next) is no moment")
        }
    }
    _ = JobSlot(rawValue: lines[0])
    if let days = Weekdays(parsing: lines[0]) {
        try checkRoundTrip(days, Weekdays(parsing: days.description))
    }
    _ = MomentText.parse(lines[0], now: now, secondsFromUTC: time.secondsFromUTC)
    if let seconds = DurationText.parse(lines[0]) { try check(seconds >= 0, "a negative duration") }
    if let part = RateOverride(stored: lines[0]) {
        try checkRoundTrip(part, RateOverride(stored: part.stored))
    }
}

/// A file of the zone database, or the words of a `TZ` variable.
private func zone(_ bytes: [UInt8]) throws {
    let rules = [ZoneRules(file: bytes), ZoneRules(posix: String(decoding: bytes, as: UTF8.self))]
    for case let rules? in rules {
        for year in stride(from: -100, through: 300, by: 25) {
            let time = Timestamp(milliseconds: Int64(year) * 31_556_952_000)
            let offset = rules.secondsFromUTC(time)
            try check(abs(offset) < ZoneRules.offsetMaximum, "\(offset) seconds from UTC")
        }
    }
}

private func cron(_ text: String) throws {
    if let schedule = try? CronSchedule(parsing: text) {
        try checkRoundTrip(schedule, try? CronSchedule(parsing: schedule.text))
        for seconds in [0, 90, 3600.0] {
            let later = try? schedule.spread(within: seconds, place: 0.7)
            if let later { try checkRoundTrip(later, try? CronSchedule(parsing: later.text)) }
        }
    }
    // Another user's table keeps its lines whatever is in it.
    guard let schedule = try? CronSchedule(parsing: "@hourly"),
        let block = try? CronBlock(
            queue: "/q", schedule: schedule, environment: [], arguments: ["/bin/longhaul"])
    else { return }
    if let table = try? block.installed(in: Array(text.utf8)) {
        try check(try block.installed(in: table) == table, "it is installed twice")
        let removed = try CronBlock.removed(of: "/q", from: table)
        try check(removed.map { $0.count <= text.utf8.count + 1 } ?? false, "more is left")
    }
}

/// `credentials`, a line `%%`, `config`.
private func aws(_ text: String) throws {
    let halves = text.split(separator: "\n%%\n", maxSplits: 1, omittingEmptySubsequences: false)
    let texts = S3Profile.Texts(
        credentials: halves.first.map(String.init),
        config: halves.dropFirst().first.map(String.init))
    for name in ["default", "p"] {
        let profile = S3Profile(name: name, credentialsFile: "/c", configFile: "/d")
        if let keys = try? profile.keys(texts) {
            let bytes = Array(text.utf8)
            for part in [keys.id, keys.secret] {
                try check(
                    bytes.firstRange(of: Array(part.utf8)) != nil, "'\(part)' is from nowhere")
            }
        }
        _ = try? profile.endpoint(texts)
    }
}

/// Files of header fields, a user and cookies: no field forges another one, and no message shows a
/// line.
private func secrets(_ text: String) throws {
    if let token = BundleCredential.token(in: Array(text.utf8)) {
        try check(!token.utf8.contains { $0 == 0x0A || $0 == 0x0D }, "a token of two lines")
    }
    let files = SecretFiles(headers: "/h", user: "/u", cookies: "/c")
    for file in [files.headers, files.user, files.cookies] {
        let one = SecretFiles(
            headers: file == "/h" ? file : nil, user: file == "/u" ? file : nil,
            cookies: file == "/c" ? file : nil)
        do {
            let secrets = try one.secrets { (_) throws(SecretFileProblem) in text }
            for field in secrets.fields.fields { try check(field.problem == nil, "a forged field") }
            for cookie in secrets.cookies {
                try check(!cookie.line.utf8.contains(0x0A), "a cookie of two lines")
                _ = cookie.mayGo(to: "h.example")
            }
        } catch let problem as SecretFileProblem {
            try check(problem.said.utf8.count < 200, "a message with a line of the file")
        }
    }
}

private func docker(_ bytes: [UInt8]) throws {
    guard
        let image = try? BundleSource(
            parsing: "oci:r.example/a/b", environment: [:], platform: nil, directory: "/home/u")
    else { throw Broken(description: "no image") }
    if let login = try? RegistryLogins.login(for: image, in: bytes) {
        try check(login.utf8.contains(UInt8(ascii: ":")), "no user and password")
    }
    if let signed = try? SignedText(bytes) {
        try check(signed.text.count <= bytes.count, "more text than there is")
    }
}

/// Files of the system: processes, directories of the user, media types, load.
private func system(_ text: String) throws {
    _ = ProcessIdentity.parse(text)
    if let path = UserDirectories.downloads(listedIn: text, home: "/home/u") {
        try check(path.isAbsolutePath, "'\(path)' is relative")
    }
    _ = MediaTypes(mimeTypes: Array(text.utf8))
    _ = MediaTypes(globs: Array(text.utf8))
    _ = IdleFacts.load(text, processors: 2)
    _ = IdleFacts.pressure(text)
    if ProxyAddress.isLoopback(text) { _ = ProxyAddress.userInfo(of: text) }
    if (try? ProxyAddress.check(text)) != nil, let user = ProxyAddress.userInfo(of: text) {
        try check(user.utf8.count < text.utf8.count, "a user from nowhere")
    }
}
