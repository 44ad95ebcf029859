internal import LonghaulCore

/// An entry of a list of URLs in aria2's format: a line with a URL and, after tabs, its mirrors;
/// then indented lines with options. A plain list has no options.
package struct ListedRequest {
    var request: TransferRequest
    private var directory: String
    private var file: String?
    /// Separate while lines are read: each change of `options` copies them.
    private var headers = HeaderFields()
    var access = ListedAccess()
    let context: InputContext
    private let template: RequestTemplate

    package init(
        _ line: UnsafeBufferPointer<UInt8>, template: RequestTemplate, context: InputContext
    ) throws(LonghaulError) {
        self.template = template
        self.context = context
        request = template.request
        directory = template.directory
        // Nearly every line is one URL and nothing else.
        guard line.contains(where: \.isBlank) else {
            request.url = try OptionText.transferURL(try line.text())
            return
        }
        var urls: [String] = []
        for part in try line.text().split(separator: "\t") {
            let url = String(part.trimmingBlanks)
            if url.isEmpty { continue }
            urls.append(
                urls.isEmpty ? try OptionText.transferURL(url) : try OptionText.url(url))
        }
        guard let first = urls.first else { throw .usage("the URL is empty") }
        request.url = first
        request.options.mirrors += urls.dropFirst()
    }

    /// - Parameter urls: The first is asked, the others are its mirrors.
    package init(
        urls: [String], template: RequestTemplate, context: InputContext
    ) throws(LonghaulError) {
        self.template = template
        self.context = context
        request = template.request
        directory = template.directory
        guard let first = urls.first else { throw .usage("the URL is missing") }
        request.url = try OptionText.transferURL(first)
        for url in urls.dropFirst() { request.options.mirrors.append(try OptionText.url(url)) }
    }

    /// Applies `name=value`. An unsupported option that would change the result is refused.
    package mutating func apply(option line: UnsafeBufferPointer<UInt8>) throws(LonghaulError) {
        let text = try line.text()[...].trimmingBlanks
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            throw .usage("an indented line is an option: name=value")
        }
        let name = String(text[..<equals].trimmingBlanks)
        let value = String(text[text.utf8.index(after: equals)...].trimmingBlanks)
        guard try apply(name, value) else {
            throw .usage("'\(TerminalText.shown(name))' is no option of an input file")
        }
    }

    /// Applies an option of aria2's; `false` if Longhaul has nothing like it.
    package mutating func apply(_ name: String, _ value: String) throws(LonghaulError) -> Bool {
        guard let option = AriaOption.named(name) else { return false }
        do {
            try option.apply(&self, value)
        } catch {
            throw error as? LonghaulError ?? .usage("\(error)")
        }
        return true
    }

    mutating func setFile(_ path: String) throws(LonghaulError) {
        if path.isEmpty { throw .usage("out: the path is empty") }
        file = path
    }

    mutating func setDirectory(_ path: String) throws(LonghaulError) {
        directory = try context.absolute(path)
    }

    mutating func addHeader(_ text: String) throws(LonghaulError) {
        let field = try OptionText.header(text, "header")
        headers.append(name: field.name, value: field.value)
    }

    mutating func setReferer(_ text: String) throws(LonghaulError) {
        try set("Referer", to: text == "*" ? ownReferer() : text, "referer")
    }

    /// aria2 has no highest number of connections.
    mutating func setConnections(_ text: String, _ name: String) throws(LonghaulError) {
        let isMore = text.decimalValue.map { $0 > Int64(Limits.segmentsPerFetch) } ?? false
        request.options.connections = try OptionText.connections(
            isMore ? "\(Limits.segmentsPerFetch)" : text, name)
    }

    mutating func set(
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

    package func finished() throws(LonghaulError) -> TransferRequest {
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
