internal import Longhaul
internal import LonghaulPlatform
internal import Synchronization

/// The largest number of places of an engine.
private let rpcPlacesMaximum = 64

/// aria2's options: a transfer's, and the global ones, which are the engine's limits and the
/// options of new transfers.
final class RPCOptions: Sendable {
    private let queue: ServedQueue
    /// Options of new transfers, unparsed.
    private let globals = Mutex<[String: [String]]>([:])

    init(_ queue: ServedQueue) {
        self.queue = queue
    }

    // MARK: - New transfers

    /// Options without a counterpart in Longhaul are ignored, and so are empty ones: clients send
    /// these for unset options.
    func request(
        _ urls: [String], _ options: [String: [String]]
    ) throws(LonghaulError) -> TransferRequest {
        for url in urls { try OptionText.refuseHidden(url, "uri") }
        var template = queue.template()
        // aria2 renames by default.
        if template.request.options.ifExists == .fail {
            template.request.options.ifExists = .rename
        }
        var entry = try ListedRequest(urls: urls, template: template, context: queue.context())
        var all = globals.withLock { $0 }.merging(options) { $1 }
        // A file that is not overwritten is renamed, unless that is refused, too.
        if all["allow-overwrite"] != nil, all["auto-file-renaming"] == nil {
            all["auto-file-renaming"] = ["true"]
        }
        for (name, values) in all.sorted(by: { $0.key < $1.key }) {
            for value in values where !value.isEmpty { _ = try entry.apply(name, value) }
        }
        return try entry.finished()
    }

    // MARK: - One transfer

    func options(of transfer: Transfer) -> JSONPayload {
        let status = RPCStatus(transfer)
        var members = shared
        members["dir"] = .string(status.directory)
        members["out"] = .string(status.name)
        members["allow-overwrite"] = flag(transfer.options.ifExists == .overwrite)
        members["auto-file-renaming"] = flag(transfer.options.ifExists == .rename)
        members["max-download-limit"] = .string("\(transfer.options.limitRate ?? 0)")
        members["max-tries"] = .string(transfer.options.retries.map { "\($0 + 1)" } ?? "0")
        members["lowest-speed-limit"] = .string("\(transfer.options.minRate ?? 0)")
        members["timeout"] = .string("\(Int(transfer.options.stallTimeout.rounded(.up)))")
        members["remote-time"] = flag(transfer.options.remoteTime)
        members["check-certificate"] = flag(!transfer.options.insecure)
        if case .exactly(let count) = transfer.options.connections {
            members["split"] = .string("\(count)")
            members["max-connection-per-server"] = .string("\(count)")
        }
        if let proxy = transfer.options.proxy, Redaction.url(proxy) == proxy {
            members["all-proxy"] = .string(proxy)
        }
        if let cookies = transfer.options.cookiesFrom { members["load-cookies"] = .string(cookies) }
        if let checksum = transfer.checksum {
            members["checksum"] = .string("\(checksum.algorithm.rawValue)=\(checksum.hex)")
        }
        return .object(members)
    }

    func change(
        _ transfer: Transfer, _ options: [String: [String]]
    ) throws(LonghaulError) {
        var before = TransferRequest(url: transfer.requestURL, destination: .file(transfer.path))
        before.options = transfer.options
        before.options.headers = HeaderFields()
        var template = RequestTemplate(directory: RPCStatus(transfer).directory)
        template.request = before
        var entry = try ListedRequest(
            urls: [transfer.requestURL], template: template, context: queue.context())
        for (name, values) in options.sorted(by: { $0.key < $1.key })
        where name != "dir" && name != "out" {
            for value in values { _ = try entry.apply(name, value) }
        }
        let after = try entry.finished()
        var change = TransferChange()
        for field in RequestField.changeable where !field.isSame(before, after) {
            if field.shape == .headers {
                change.headers = after.options.headers.fields
            } else {
                change.fields.say(field, of: after)
            }
        }
        if options["dir"] != nil || options["out"] != nil {
            let status = RPCStatus(transfer)
            let directory = try queue.context().absolute(
                options["dir"]?.first ?? status.directory)
            change.destination = queue.context().absolute(
                options["out"]?.first ?? status.name, in: directory)
        }
        if change != TransferChange() { try queue.change(transfer.id, change) }
    }

    // MARK: - All

    /// Options shown for each download unless it overrides them: the global ones, and the values
    /// that stand here for aria2's defaults.
    private var shared: [String: JSONPayload] {
        let connections = "\(queue.engineLimits.perOrigin ?? Limits.connectionsPerOrigin)"
        var members: [String: JSONPayload] = [
            "split": .string(connections), "max-connection-per-server": .string(connections),
            "max-download-limit": "0", "max-upload-limit": "0", "lowest-speed-limit": "0",
            "max-tries": "0", "min-split-size": "1048576", "stream-piece-selector": "default",
            "allow-overwrite": "false", "auto-file-renaming": "true", "remote-time": "false",
            "check-certificate": "true", "check-integrity": "false", "conditional-get": "false",
            "file-allocation": "none", "force-save": "false", "parameterized-uri": "false",
        ]
        let set = globals.withLock { $0 }
        members.merge(set.compactMapValues { $0.first.map(JSONPayload.string) }) { $1 }
        // Longhaul always continues, regardless of the client's setting.
        members["continue"] = "true"
        return members
    }

    func global() -> JSONPayload {
        let limits = queue.engineLimits
        var members = shared
        members["dir"] = members["dir"] ?? .string(queue.directories.first)
        members["max-overall-upload-limit"] = "0"
        members["max-concurrent-downloads"] = .string("\(limits.running)")
        members["max-overall-download-limit"] = .string("\(limits.rates.bytesPerSecond ?? 0)")
        if let count = limits.perOrigin {
            members["max-connection-per-server"] = .string("\(count)")
        }
        return .object(members)
    }

    func changeGlobal(_ options: [String: [String]]) throws(LonghaulError) {
        try queue.checkWritable()
        var running: Int?
        var perOrigin: Int?
        var rate: Int64??
        var others: [String: [String]] = [:]
        for (name, values) in options {
            guard let value = values.first else { continue }
            switch name {
            case "max-concurrent-downloads": running = try count(value, name)
            case "max-connection-per-server": perOrigin = try count(value, name)
            case "max-overall-download-limit":
                rate = value == "0" ? .some(nil) : try OptionText.rate(value, name)
            default: if AriaOption.named(name) != nil { others[name] = values }
            }
        }
        if let directory = others["dir"]?.first {
            try queue.directories.check(try queue.context().absolute(directory))
        }
        if running != nil || perOrigin != nil || rate != nil {
            try queue.adjust { limits in
                if let running { limits.running = running }
                if let perOrigin { limits.perOrigin = perOrigin }
                if let rate { limits.rates.bytesPerSecond = rate }
            }
        }
        globals.withLock { $0.merge(others) { $1 } }
    }

    /// More than the engine can is as much as it can.
    private func count(_ text: String, _ name: String) throws(LonghaulError) -> Int {
        guard let number = text.decimalValue, number > 0 else {
            throw .usage("\(name): it is a number from 1 on")
        }
        return Int(min(number, Int64(rpcPlacesMaximum)))
    }

    private func flag(_ flag: Bool) -> JSONPayload { flag ? "true" : "false" }
}
