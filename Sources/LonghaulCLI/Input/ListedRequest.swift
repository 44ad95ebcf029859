import Longhaul

/// An entry of a list of URLs in aria2's format: a line with a URL and, after tabs, its mirrors;
/// then indented lines with options. A plain list has no options.
struct ListedRequest {
    private var request: TransferRequest
    private var directory: String
    private var file: String?
    /// Separate while lines are read: each change of `options` copies them.
    private var headers = HeaderFields()
    private var access = ListedAccess()
    private let context: InputContext
    private let template: RequestTemplate

    init(
        _ line: UnsafeBufferPointer<UInt8>, template: RequestTemplate, context: InputContext
    ) throws(LonghaulError) {
        self.template = template
        self.context = context
        request = template.request
        directory = template.directory
        // Nearly every line is one URL and nothing else.
        guard line.contains(where: \.isBlank) else {
            request.url = try OptionText.url(try line.text())
            return
        }
        var urls: [String] = []
        for part in try line.text().split(separator: "\t") {
            let url = part.trimmingBlanks
            if !url.isEmpty { urls.append(try OptionText.url(String(url))) }
        }
        guard let first = urls.first else { throw .usage("the URL is empty") }
        request.url = first
        request.options.mirrors += urls.dropFirst()
    }

    /// Applies `name=value`. An unsupported option that would change the result is refused.
    mutating func apply(option line: UnsafeBufferPointer<UInt8>) throws(LonghaulError) {
        let text = try line.text()[...].trimmingBlanks
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            throw .usage("an indented line is an option: name=value")
        }
        let name = String(text[..<equals].trimmingBlanks)
        let value = String(text[text.utf8.index(after: equals)...].trimmingBlanks)
        switch name {
        case "out":
            if value.isEmpty { throw .usage("out: the path is empty") }
            file = value
        case "dir": directory = try context.absolute(value)
        case "header":
            let field = try OptionText.header(value, name)
            headers.append(name: field.name, value: field.value)
        case "checksum": request.options.checksum = try OptionText.checksum(value, name)
        case "referer": try set("Referer", to: value == "*" ? ownReferer() : value, name)
        case "user-agent": try set("User-Agent", to: value, name)
        case "split", "max-connection-per-server":
            request.options.connections = try OptionText.connections(value, name)
        case "max-download-limit":
            request.options.limitRate = value == "0" ? nil : try OptionText.rate(value, name)
        case "allow-overwrite":
            guard let isAllowed = Bool(value) else { throw .usage("\(name): it is true or false") }
            request.options.ifExists = isAllowed ? .overwrite : .fail
        // Options of aria2's own bookkeeping.
        case "gid", "continue", "always-resume", "auto-file-renaming": return
        default:
            if try access.apply(name, value) { return }
            throw .usage("'\(TerminalText.shown(name))' is no option of an input file")
        }
    }

    private mutating func set(
        _ field: String, to value: String, _ name: String
    ) throws(LonghaulError) {
        let value = try OptionText.header("\(field): \(value)", name).value
        headers[field] = value
    }

    /// The value of `*`: the URL itself, without credentials and fragment.
    private func ownReferer() throws(LonghaulError) -> String {
        guard let parts = try? URLParts(request.url) else { return request.url }
        var url = request.url
        if let fragment = parts.fragment {
            url = String(Substring(url.utf8.dropLast(fragment.utf8.count + 1)))
        }
        if let userInfo = parts.userInfo, let range = url.firstRange(of: userInfo + "@") {
            url.removeSubrange(range)
        }
        return url
    }

    func finished() throws(LonghaulError) -> TransferRequest {
        var request = request
        if !headers.isEmpty {
            request.options.headers = request.options.headers.overridden(by: headers)
        }
        if !access.isEmpty { try access.settle(&request) }
        if let file {
            request.destination = .file(context.absolute(file, in: directory))
        } else if directory.isExactly(template.directory) {
            request.destination = template.destination
        } else {
            request.destination = .directory(
                directory, remoteName: request.options.remoteName)
        }
        return request
    }
}
