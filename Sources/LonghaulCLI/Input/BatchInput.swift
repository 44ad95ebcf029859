import Longhaul

/// The requests of one command in order: first of the command line, then of the input. The first
/// non-blank character decides the input's format: `{` means JSON Lines.
final class BatchInput {
    /// The line of the request returned last; `nil` = named on the command line.
    private(set) var line: Int?

    private let template: RequestTemplate
    private let context: InputContext
    private let lines: ByteLines?
    private let shard: Shard?
    private let passesOverEnded: Bool
    /// Printed transfers that have ended, which are no requests.
    private(set) var passedOver = 0
    private var urls: ArraySlice<String>
    private var format: Format?
    private var isInsideRefused = false

    private enum Format {
        case jsonLines(JSONRequest)
        case urls

        var hasOptions: Bool {
            switch self {
            case .jsonLines: false
            case .urls: true
            }
        }
    }

    init(
        urls: [String], lines: ByteLines?, template: RequestTemplate, context: InputContext,
        shard: Shard? = nil, passesOverEnded: Bool = false
    ) {
        self.shard = shard
        self.passesOverEnded = passesOverEnded
        self.urls = urls[...]
        self.lines = lines
        self.template = template
        self.context = context
    }

    /// The requests of other machines are checked, too: a list is good or bad on all of them.
    func next() throws(InputProblem) -> TransferRequest? {
        while let request = try nextOfAll() {
            if shard?.contains(request) ?? true { return request }
        }
        return nil
    }

    private func nextOfAll() throws(InputProblem) -> TransferRequest? {
        if let url = urls.popFirst() {
            do {
                return try template.request(url: url)
            } catch {
                throw InputProblem(error: error, line: nil)
            }
        }
        guard let lines else { return nil }
        do {
            return try next(in: lines)
        } catch {
            // If the input cannot be read at all, no line is at fault.
            throw InputProblem(error: error, line: lines.number == 0 ? nil : lines.number)
        }
    }

    private func next(in lines: ByteLines) throws(LonghaulError) -> TransferRequest? {
        if isInsideRefused {
            while try lines.nextIsOption() { _ = try lines.next() }
            isInsideRefused = false
        }
        while let text = try nextLine(of: lines) {
            guard let first = text.first(where: { !$0.isBlank }) else { continue }
            line = lines.number
            switch format ?? decideFormat(first) {
            case .jsonLines(let reader):
                if let request = try reader.requestUnlessEnded(text) { return request }
                passedOver += 1
            case .urls:
                if first == UInt8(ascii: "#") { continue }
                try refuseStray(text)
                return try listed(text, in: lines)
            }
        }
        return nil
    }

    /// The options below a refused line are no entries either.
    private func nextLine(
        of lines: ByteLines
    ) throws(LonghaulError) -> UnsafeBufferPointer<UInt8>? {
        do {
            return try lines.next()
        } catch {
            // The format is not known yet: the next line may be an entry.
            isInsideRefused = format?.hasOptions ?? false
            throw error
        }
    }

    private func listed(
        _ text: UnsafeBufferPointer<UInt8>, in lines: ByteLines
    ) throws(LonghaulError) -> TransferRequest {
        // A failure refuses the whole entry: its other lines are no entries.
        isInsideRefused = true
        var entry = try ListedRequest(text, template: template, context: context)
        while try lines.nextIsOption(), let option = try lines.next() {
            guard let first = option.first(where: { !$0.isBlank }), first != UInt8(ascii: "#")
            else { continue }
            try entry.apply(option: option)
        }
        isInsideRefused = false
        return try entry.finished()
    }

    /// Refuses an option without an entry. An indented URL is an entry all the same.
    private func refuseStray(_ text: UnsafeBufferPointer<UInt8>) throws(LonghaulError) {
        guard text.first?.isBlank == true else { return }
        let line = try text.text()
        let name = line.prefix { $0 != "=" }
        if name.utf8.count < line.utf8.count, !name.contains("://") {
            throw .usage("an option without a URL before it")
        }
    }

    private func decideFormat(_ first: UInt8) -> Format {
        let decided: Format =
            first == UInt8(ascii: "{")
            ? .jsonLines(
                JSONRequest(
                    template: template, context: context, passesOverEnded: passesOverEnded))
            : .urls
        format = decided
        return decided
    }
}
