/// A server's answer for one URL, until it is changed.
enum ModelAnswer: String, CaseIterable, Sendable {
    case file = "200"
    case missing = "404"
    case busy = "503"
}

enum ModelNetwork: String, CaseIterable, Sendable { case unmetered, metered, offline }

enum ModelPolicy: String, CaseIterable, Sendable { case fail, skip, overwrite, rename }

/// The request of one `enqueue`. Transfers are named by their label, which stays when other
/// commands of a script are left out.
struct ModelRequest: Hashable, Sendable {
    var label: Int
    var url: Int
    var file: Int
    var session = "default"
    var policy = ModelPolicy.fail
    var priority = 1
    /// Seconds from now.
    var earliest: Int?
    var deadline: Int?
    var after: [Int] = []
    var afterAny = false
    var power = false
    var unmetered = false

    init(label: Int, url: Int, file: Int) {
        self.label = label
        self.url = url
        self.file = file
    }

    var isUpload: Bool { ModelNames.isPlace(url) }

    /// The file that comes or is sent.
    var path: String { isUpload ? ModelNames.source(file) : ModelNames.path(file) }
}

/// One change of `set`.
enum ModelChange: Hashable, Sendable {
    case priority(Int)
    /// Seconds from now; `nil` = at once.
    case earliest(Int?)
    case needs(power: Bool, unmetered: Bool)
    case url(Int)
    case deadline(Int)
}

enum ModelSelection: Hashable, Sendable {
    case one(Int)
    case session(String)
    case all
}

/// A command of `longhaul`, or something that happens to the machine.
enum ModelCommand: Hashable, Sendable {
    case enqueue(ModelRequest)
    case want(ModelVerb, ModelSelection, keepBytes: Bool)
    case set(Int, ModelChange)
    case remove(Int)
    /// Acknowledges a part of the waiting events: through the n-th one, or that one alone.
    case acknowledge(Int, alone: Bool)
    case conditions(ModelNetwork, power: Bool)
    case answer(url: Int, ModelAnswer)
    /// Another program makes a file, or takes one away.
    case touch(file: Int)
    case unlink(file: Int)
    /// The wall clock is set.
    case clock(seconds: Int)
    case sleep(seconds: Int)
    /// The engine's process dies after so many further effects and commits.
    case kill(after: Int)
    case powerCut(after: Int)
    /// SIGTERM; another engine follows.
    case leave
    /// Until nothing changes any more without a command.
    case rest

    /// A process of a client carries it out, and may be killed.
    var isOfClient: Bool {
        switch self {
        case .enqueue, .want, .set, .remove, .acknowledge: true
        case .conditions, .answer, .touch, .unlink, .clock, .sleep, .kill, .powerCut, .leave, .rest:
            false
        }
    }
}

/// One line of a script.
struct ModelStep: Hashable, Sendable {
    var command: ModelCommand
    /// The client is killed before its commit: the command has no effect.
    var isKilled = false
}

// MARK: - Names

enum ModelNames {
    /// Those to download from, then those that take uploads.
    static let urls = 6
    static let files = 5
    static let sessions = ["default", "s"]

    /// The URL takes uploads.
    static func isPlace(_ url: Int) -> Bool { url >= 4 }
    static func url(_ number: Int) -> String {
        "http://s\(number % 2).test/\(isPlace(number) ? "u" : "f")\(number)"
    }
    static func path(_ number: Int) -> String { "/d/f\(number)" }
    static func source(_ number: Int) -> String { "/u/f\(number)" }
}

// MARK: - As a shell script

extension ModelStep: CustomStringConvertible {
    var description: String {
        isKilled ? "\(command.text)    # killed before its commit" : command.text
    }
}

extension ModelCommand {
    var text: String {
        switch self {
        case .enqueue(let request): request.text
        case .want(let verb, let selection, let keepBytes):
            "longhaul \(verb.rawValue) \(selection.text)\(keepBytes ? " --keep-bytes" : "")"
        case .set(let label, let change): "longhaul set $t\(label) \(change.text)"
        case .remove(let label): "longhaul remove $t\(label)"
        case .acknowledge(let nth, let alone):
            "longhaul events --\(alone ? "ack-one" : "ack") SEQ    # of waiting event \(nth + 1)"
        case .conditions(let network, let power):
            "longhaul conditions --set network=\(network),power=\(power ? "external" : "battery")"
        case .answer(let url, let answer):
            "# \(ModelNames.url(url)) answers \(answer.rawValue)"
        case .touch(let file): "test -e \(ModelNames.path(file)) || touch \(ModelNames.path(file))"
        case .unlink(let file): "rm -f \(ModelNames.path(file))"
        case .clock(let seconds): "# the clock is set by \(seconds) s"
        case .sleep(let seconds): "sleep \(seconds)"
        case .kill(let effects): "# kill -9 of the engine, after \(effects) more effects"
        case .powerCut(let effects): "# power cut, after \(effects) more effects"
        case .leave: "# SIGTERM of the engine, and another one"
        case .rest: "# until nothing changes"
        }
    }
}

extension ModelSelection {
    var text: String {
        switch self {
        case .one(let label): "$t\(label)"
        case .session(let name): "--session \(name)"
        case .all: "--all"
        }
    }
}

extension ModelChange {
    var text: String {
        switch self {
        case .priority(let priority): "--priority \(["high", "normal", "low"][priority])"
        case .earliest(let seconds): "--earliest \(seconds.map { "+\($0)s" } ?? "none")"
        case .needs(let power, let unmetered): "--require \(needsText(power, unmetered))"
        case .url(let url): "--url \(ModelNames.url(url))"
        case .deadline(let seconds): "--deadline \(seconds)s"
        }
    }
}

extension ModelRequest {
    var text: String {
        let what =
            isUpload
            ? "upload \(path) \(ModelNames.url(url))" : "enqueue \(ModelNames.url(url)) -o \(path)"
        var words = ["t\(label)=$(longhaul \(what)"]
        if session != "default" { words.append("--session \(session)") }
        if policy != .fail { words.append("--if-exists \(policy.rawValue)") }
        if priority != 1 { words.append(ModelChange.priority(priority).text) }
        if let earliest { words.append("--earliest +\(earliest)s") }
        if let deadline { words.append("--deadline \(deadline)s") }
        for label in after { words.append("--after $t\(label)") }
        if afterAny { words.append("--after-any") }
        if power || unmetered { words.append("--require \(needsText(power, unmetered))") }
        return words.joined(separator: " ") + ")"
    }
}

private func needsText(_ power: Bool, _ unmetered: Bool) -> String {
    let words = (power ? ["power"] : []) + (unmetered ? ["unmetered"] : [])
    return words.isEmpty ? "none" : words.joined(separator: ",")
}
