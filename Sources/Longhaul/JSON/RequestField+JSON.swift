internal import LonghaulCore

extension JSONScanner {
    /// The value of a field of a request. Printed header fields, an array of names, are none.
    ///
    /// - Throws: ``JSONProblem``; `LonghaulError` where the values of header fields are hidden.
    package mutating func input(_ shape: FieldShape, _ key: String = "") throws -> FieldInput {
        switch shape {
        case .text: return .text(try string())
        case .number: return .text(isString() ? try string() : String(try integer()))
        case .flag, .onOff: return .flag(try bool())
        case .duration: return isString() ? .text(try string()) : .seconds(try double())
        case .list:
            if isString() { return .texts([try string()]) }
            var texts: [String] = []
            try array { texts.append(try $0.isString() ? $0.string() : String($0.integer())) }
            return .texts(texts)
        case .headers:
            var fields: [HeaderFields.Field] = []
            if isArray() {
                try array { (_) in throw OptionText.hidden(key) }
            } else {
                try object { name, scanner in
                    fields.append(
                        try OptionText.header("\(name): \(try scanner.string())", key))
                }
            }
            return .headers(fields)
        case .pairs:
            if isString() || isArray() { return try input(.list, key) }
            var texts: [String] = []
            try object { name, scanner in
                // The name would end at its first equals sign.
                if name.contains("=") {
                    throw LonghaulError.usage("\(key): a name has an equals sign in it")
                }
                texts.append("\(name)=\(try scanner.string())")
            }
            return .texts(texts)
        case .json: return .text(try raw())
        }
    }
}

extension JSONProblem {
    /// Runs a reader of JSON. What is wrong in the text becomes a usage error.
    package static func asUsage<Value>(
        _ read: () throws -> Value
    ) throws(LonghaulError) -> Value {
        do {
            return try read()
        } catch let problem as JSONProblem {
            throw .usage(TerminalText.shown(problem.description))
        } catch let error as LonghaulError {
            throw error
        } catch {
            throw .usage("\(error)")
        }
    }
}
