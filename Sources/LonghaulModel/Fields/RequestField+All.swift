/// The longest spread: less than the days before the present one that are searched for windows.
private let spreadMaximumSeconds: Double = 7 * 86_400

/// The table. Its order is that of the keys in JSON and of the options in `--help`.
extension RequestField {
    package static let all: [RequestField] = Array(
        [session, schedule, expectation, access, transfer, upload, internals].joined())

    private static let session: [RequestField] = [
        RequestField(
            "session", .request(\.session), Form.name, [],
            option: Option(
                "session", .session,
                "The session it belongs to (default: default, or the name of --host)")),
        RequestField(
            "meta", .options(\.metadata), Form.json, .setting,
            option: Option("meta", .session, "Your own JSON, kept and shown with the transfer")),
    ]

    private static let schedule: [RequestField] = [
        RequestField(
            "earliestBegin", .request(\.earliestBegin), Form.moment, [.changeable],
            option: Option(
                "earliest", .schedule,
                "Not before: 2030-01-31T22:00:00Z, 2030-01-31, 22:00, tomorrow, +2h30m, now")),
        RequestField(
            "deadline", .request(\.deadline), Form.deadline, [.setting, .last],
            option: Option(
                "deadline", .schedule,
                "Give up: at such a time, or so long after it may begin, as 12h", usual: "7d"),
            configured: duration + ", and more than 0s"),
        RequestField(
            "window", .schedule(\.windows), Form.windows, .setting,
            option: Option(
                "window", .schedule,
                "Only then: 22:00-06:00, Sat,Sun, Mon-Fri 22:00-06:00 (several by ; or repeatable)"
            ),
            configured: "windows, as Mon-Fri 22:00-06:00;Sat,Sun"),
        RequestField(
            "spread", .options(\.spread), Form.duration, [.changeable, .adopted, .printed],
            label: "Spread",
            option: Option(
                "spread", .schedule,
                "Start at a random moment, fixed for the transfer, within this of when it may"),
            configured: duration,
            check: {
                (0...spreadMaximumSeconds).contains($0) ? nil : "a spread is 0s to 7d"
            }),
        RequestField(
            "after", .options(\.after), Form.transfers, [.setting, .printed], label: "After",
            option: Option(
                "after", .schedule, "Only when these transfers have completed: ids (repeatable)")),
        RequestField(
            "afterAny", .options(\.afterAny), Form.flag, [.setting, .printed],
            label: "After any end",
            option: Option(
                "after-any", .schedule, "With --after: when they have ended, however they did")),
        RequestField(
            "require", .schedule(\.requires), Form.needs, .setting,
            option: Option(
                "require", .schedule,
                "Only with power, unmetered, idle, network, battery=50 (a list)"),
            check: { $0.defect }),
        RequestField(
            "prefer", .schedule(\.prefers), Form.preferences, .setting,
            option: Option(
                "prefer", .schedule,
                "The same, but waived in time, or when the deadline comes near (a list)"),
            check: { $0?.defect }),
        RequestField(
            "discretionary", .request(\.isDiscretionary), Form.flag, .setting,
            option: Option(
                "discretionary", .schedule,
                "Let the engine pick the moment: prefers power, an unmetered network, idleness"),
            merge: { $0 && $1 }),
        RequestField(
            "priority", .request(\.priority), Form.priority, .setting,
            option: Option("priority", .schedule, "high, normal or low", usual: "normal"),
            configured: "high, normal or low"),
    ]

    private static let expectation: [RequestField] = [
        RequestField(
            "expectedBytes", .request(\.expectedBytes), Form.size, .setting,
            option: Option("expect", .transfer, "The size you expect; a hint"),
            check: { ($0 ?? 0) < 0 ? "the expected size is 0 bytes or more" : nil }),
        RequestField(
            "checksum", .options(\.checksum), Form.checksum, [.changeable, .restated, .identity],
            option: Option(
                "checksum", .transfer, "The digest of the file: sha256:HEX, sha512, sha1 or md5")),
        RequestField(
            "stallTimeout", .options(\.stallTimeout), Form.duration, .setting,
            option: Option(
                "stall-timeout", .transfer, "Without a byte for this long, try again",
                usual: "60s"),
            configured: duration + ", and more than 0s", merge: { max($0, $1) },
            check: {
                $0 > 0 && $0.isFinite
                    ? nil : "a stall timeout is a finite number of seconds, more than 0"
            }),
    ]

    private static let access: [RequestField] = [
        RequestField(
            "headers", .options(\.headers), Form.headers, .access, label: "Header",
            option: Option(
                "header", short: "H", .request,
                "A request header; @FILE reads one from each line (repeatable)"),
            combine: { $0.overridden(by: $1) }),
        RequestField(
            "user", .options(\.user), Form.user, .access, label: "User",
            option: Option("user", .request, "User and password for the URL's server")),
        RequestField(
            "headersFrom", .options(\.headersFrom), Form.file,
            [.changeable, .restated, .identity, .printed], label: "Headers from",
            option: Option(
                "header-from", .request,
                "Header fields from this file, read at each attempt and never stored")),
        RequestField(
            "userFrom", .options(\.userFrom), Form.file,
            [.changeable, .restated, .identity, .printed], label: "User from",
            option: Option("user-from", .request, "User and password from this file, likewise")),
        RequestField(
            "cookies", .options(\.cookiesFrom), Form.file,
            [.changeable, .restated, .identity, .printed], label: "Cookies from",
            option: Option(
                "cookies", .request, "Cookies from this file, likewise (Netscape format)")),
        RequestField(
            "auth", .options(\.authentication), Form.choice("scheme"),
            [.changeable, .restated, .identity, .printed], label: "Authentication",
            option: Option(
                "auth", .request, "How the user is proven: basic, digest, negotiate or any",
                usual: "basic")),
        RequestField(
            "netrc", .options(\.netrc), Form.flag, .access, label: "Netrc",
            option: Option("netrc", .request, "Look user and password up in ~/.netrc")),
        RequestField(
            "proxy", .options(\.proxy), Form.proxy, .access,
            label: "Proxy", option: Option("proxy", .request, "Go through this proxy")),
        RequestField(
            "cacert", .options(\.caCertificate), Form.file, .access, label: "Authorities",
            option: Option("cacert", .request, "Trust the certificates in this file")),
        RequestField(
            "cert", .options(\.clientCertificate), Form.file, .access, label: "Certificate",
            option: Option("cert", .request, "The client certificate to show")),
        RequestField(
            "key", .options(\.clientKey), Form.file, .access,
            label: "Key", option: Option("key", .request, "Its private key; alone, SFTP's")),
        RequestField(
            "insecure", .options(\.insecure), Form.flag, .access, label: "Insecure",
            option: Option("insecure", .request, "Do not verify the server's certificate")),
        RequestField(
            "privateAddresses", .options(\.privateAddresses), Form.choice("what"),
            [.changeable, .restated, .identity, .printed], label: "Private addresses",
            option: Option(
                "private-addresses", .request,
                "What to do where a URL or a redirect leads to one: allow or refuse",
                usual: "allow")),
        RequestField(
            "mirrors", .options(\.mirrors), Form.urls, [.access, .download], label: "Mirror",
            option: Option("mirror", .download, "Another URL of the same bytes (repeatable)")),
    ]

    private static let transfer: [RequestField] = [
        RequestField(
            "ifExists", .options(\.ifExists), Form.choice("what"), [.setting, .download, .printed],
            label: "If it exists",
            option: Option(
                "if-exists", .destination,
                "What to do where the file exists: fail, skip, overwrite or rename",
                usual: "fail"),
            configured: "fail, skip, overwrite or rename"),
        RequestField(
            "onDuplicate", .options(\.onDuplicate), Form.choice("what"), [.printed],
            label: "On duplicate",
            option: Option(
                "on-duplicate", .session,
                "What to do where an equal transfer is live: join, separate, replace or fail",
                usual: "join")),
        RequestField(
            "reuse", .options(\.reuse), Form.flag, [.download, .restated, .printed], label: "Reuse",
            option: Option(
                "reuse", .destination,
                "Copy a finished download of the same where the server says it is still current")),
        RequestField(
            "limitRate", .options(\.limitRate), Form.rate, [.setting, .printed],
            label: "Rate limit",
            option: Option("limit-rate", .transfer, "Bytes per second at most: 500K, 10M, none"),
            configured: rate, merge: freest,
            check: { ($0 ?? 1) < 1 ? "a rate limit is at least 1 byte per second" : nil }),
        RequestField(
            "minRate", .options(\.minRate), Form.rate, [.setting, .download, .printed],
            label: "Least rate",
            option: Option(
                "min-rate", .download,
                "Slower than this for 30 s, try again, or ask the next mirror: 50K, none"),
            configured: rate,
            merge: { one, other in one.flatMap { least in other.map { min(least, $0) } } },
            check: { ($0 ?? 1) < 1 ? "a least rate is at least 1 byte per second" : nil }),
        RequestField(
            "yield", .options(\.yields), Form.onOff, [.setting, .printed], label: "Yields",
            option: Option(
                "yield", .transfer, "Take only what other traffic leaves of the line",
                usual: "if discretionary"),
            configured: "true or false"),
        RequestField(
            "connections", .options(\.connections), Form.connections,
            [.setting, .download, .printed], label: "Connections",
            option: Option("connections", .download, "Connections for one file, or auto (default)"),
            configured: "auto, or a number from 1 to \(Limits.segmentsPerFetch)",
            check: {
                guard case .exactly(let count) = $0, !(1...Limits.segmentsPerFetch).contains(count)
                else { return nil }
                return "a file has 1 to \(Limits.segmentsPerFetch) connections"
            }),
        RequestField(
            "maxSize", .options(\.maxSize), Form.size, [.access, .download], label: "Largest size",
            option: Option("max-size", .download, "Refuse a file larger than this"),
            check: { ($0 ?? 0) < 0 ? "the largest size is 0 bytes or more" : nil }),
        RequestField(
            "retries", .options(\.retries), Form.count, [.setting, .printed], label: "Retries",
            option: Option(
                "retries", .transfer,
                "Retries after the first attempt; gained bytes reset the count",
                usual: "none = until the deadline"),
            configured: "a number", merge: freest,
            check: {
                (0...Int(Int32.max)).contains($0 ?? 0)
                    ? nil : "the number of retries is 0 to \(Int32.max)"
            }),
        RequestField(
            "retryStatus", .options(\.retryStatus), Form.statuses,
            [.changeable, .adopted, .restated, .printed], label: "Retried statuses",
            option: Option(
                "retry-status", .transfer, "HTTP statuses to try again, as 403,404 (a list)"),
            check: {
                $0.allSatisfy((400...599).contains) ? nil : "a status to try again is 400 to 599"
            }),
        RequestField(
            "errorPages", .options(\.deliversErrorPages), Form.flag, [.access, .download],
            label: "Error pages",
            option: Option(
                "error-pages", .download,
                "Complete with the server's page where its status (400 to 599) is final")),
        RequestField(
            "remoteTime", .options(\.remoteTime), Form.flag,
            [.download, .changeable, .adopted, .restated, .printed], label: "Remote time",
            option: Option(
                "remote-time", .destination, "Give the file the server's time (Last-Modified)"),
            configured: "true or false"),
        RequestField(
            "notify", .options(\.notifies), Form.flag, [.changeable, .adopted, .printed],
            label: "Notifies",
            option: Option(
                "notify", .transfer,
                "Notify on the desktop at the end, and when an answer is needed"),
            configured: "true or false"),
        RequestField(
            "continue", .options(\.continues), Form.flag, [.download, .printed],
            label: "Continues",
            option: Option(
                "continue", .destination,
                "Resume the part of the file that curl, wget or a browser has left there")),
        RequestField(
            "remoteName", .options(\.remoteName), Form.flag, [.download, .printed],
            label: "Remote name",
            option: Option(
                "remote-name", .destination, "Let the server name the file (Content-Disposition)")),
        RequestField(
            "waiveAfter", .options(\.waiveAfter), Form.duration, [.setting, .printed],
            option: Option(
                "waive-after", .schedule, "How long preferences may keep it waiting",
                usual: "24h"),
            configured: duration,
            check: {
                $0 >= 0 && $0.isFinite
                    ? nil : "preferences are waived after a finite number of seconds, 0 or more"
            }),
    ]

    private static let upload: [RequestField] = [
        RequestField(
            "protocol", .upload(\.uploadProtocol), Form.choice("name"), .sending, label: "Protocol",
            option: Option(
                "protocol", .upload, "auto (ask the server), put, post, ietf, tus or s3",
                usual: "auto")),
        RequestField(
            "method", .upload(\.method), Form.method, .sending, label: "Method",
            option: Option(
                "method", .upload, "PUT or POST", usual: "PUT, or as the protocol has it")),
        RequestField(
            "form", .upload(\.formField), Form.text(.text, "name"), .sending, label: "Form field",
            option: Option("form", .upload, "Send it as this field of a form (POST)")),
        RequestField(
            "formFields", .upload(\.formFields), Form.formFields, .sending, label: "Form fields",
            option: Option(
                "form-field", .upload,
                "With --form: another field of it, before the file (repeatable)"),
            check: {
                let fields = $0 ?? []
                let bytes = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
                if fields.contains(where: \.name.isEmpty) { return "a form's field has no name" }
                return bytes <= Limits.requestHeaderBytes
                    ? nil
                    : "the fields of one form are more than \(Limits.requestHeaderBytes) bytes"
            }),
        RequestField(
            "contentType", .upload(\.contentType), Form.text(.text, "type"), [.sending, .restated],
            label: "Content type",
            option: Option(
                "content-type", .upload, "The file's media type", usual: "by its name")),
        RequestField(
            "partSize", .upload(\.partSize), Form.size, .sending, label: "Part size",
            option: Option(
                "part-size", .upload,
                "Bytes of one request: of S3 5M to 5G, of tus and IETF 64K to 5G",
                usual: "of S3 8M or more")),
        RequestField(
            "repeatable", .upload(\.isRepeatable), Form.flag, [.sending, .restated],
            label: "Repeatable",
            option: Option(
                "repeatable", .upload, "A POST may be sent again where its answer was lost")),
        RequestField(
            "inPlace", .upload(\.inPlace), Form.flag, [.sending, .restated], label: "In place",
            option: Option(
                "in-place", .upload,
                "FTP, SFTP: send to the target itself, where the server renames nothing")),
        RequestField(
            "createDirs", .upload(\.createsDirectories), Form.flag,
            [.upload, .restated, .identity, .printed], label: "Creates directories",
            option: Option(
                "create-dirs", .upload,
                "Make missing directories at the server, as with several files")),
        RequestField(
            "ifChanged", .upload(\.ifChanged), Form.choice("what"), [.sending, .restated],
            label: "If changed",
            option: Option(
                "if-changed", .upload,
                "What to do when the file was changed: fail, restart, or follow what is written",
                usual: "fail")),
        RequestField(
            "settle", .upload(\.settle), Form.optionalDuration, [.sending, .restated],
            label: "Settles",
            option: Option(
                "settle", .upload,
                "With --follow: the file is complete when so long no program has written to it",
                usual: "10s"),
            check: {
                guard let seconds = $0 else { return nil }
                return (0...86_400).contains(seconds) ? nil : "a time to settle is 0s to 24h"
            }),
        RequestField(
            "snapshot", .upload(\.snapshot), Form.flag, .sending, label: "Snapshot",
            option: Option(
                "snapshot", .upload,
                "Send its present version: a clone of it (reflink), else a copy, is made at once")),
    ]

    private static let internals: [RequestField] = [
        RequestField(.options(\.keepsResponse), merge: { $0 || $1 }),
        RequestField(.options(\.continued), [.restated, .identity]),
        RequestField(.options(\.disk)),
        // The fetch waits for space if one subscriber can; a command in the foreground waits too.
        RequestField(.options(\.failOnFullDisk), merge: { $0 && $1 }),
        RequestField(.options(\.unreachableAttempts), [.restated], merge: freest),
    ]

    /// What the configuration file takes for a duration, and for a rate, in words.
    package static let duration = "a duration, as 90s, 15m, 2h or 7d"
    package static let rate = "bytes a second, as 500000, 500K or 2M"

    /// The larger of two bounds; `nil` = unlimited.
    @Sendable
    private static func freest<Bound: Comparable>(_ one: Bound?, _ other: Bound?) -> Bound? {
        guard let one, let other else { return nil }
        return max(one, other)
    }
}

extension RequestField.Rules {
    /// It says how a transfer is carried out.
    fileprivate static let setting: Self = [.changeable, .adopted, .restated]
    /// It decides what the server sends.
    fileprivate static let access: Self = [.changeable, .restated, .identity, .printed]
    /// It says how a file is sent.
    fileprivate static let sending: Self = [.upload, .identity, .printed]
}

extension Priority {
    /// Name as it is typed and printed.
    package var name: String {
        switch self {
        case .high: "high"
        case .normal: "normal"
        case .low: "low"
        }
    }

    package init?(name: String) {
        guard let priority = Priority.allCases.first(where: { $0.name == name }) else { return nil }
        self = priority
    }
}
