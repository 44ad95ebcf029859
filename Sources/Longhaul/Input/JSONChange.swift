internal import LonghaulCore

extension TransferChange {
    /// Reads a change from an object with the option names of `set` and the keys of JSON Lines.
    /// `null` unsets a value; a header field without a value is removed.
    ///
    /// - Parameter begin: The moment to which a deadline refers by default.
    /// - Throws: `invalidRequest` names the key.
    package init(
        json: UnsafeBufferPointer<UInt8>, _ context: InputContext, begin: Timestamp?
    ) throws(LonghaulError) {
        self.init()
        var change = TransferChange()
        var last: (RequestField, FieldInput)?
        try JSONProblem.asUsage {
            var scanner = JSONScanner(json)
            try scanner.object { key, scanner in
                switch key {
                case "url": change.url = try OptionText.transferURL(scanner.string(), key)
                case "destination": change.destination = try context.absolute(scanner.string())
                case "complete": change.completesFile = try scanner.bool()
                case "headers":
                    if case .headers(let fields) = try scanner.input(.headers, key) {
                        change.headers = fields
                    }
                default:
                    guard
                        let field = RequestField.changeable.first(where: { $0.key == key })
                    else {
                        throw LonghaulError.usage(
                            "'\(TerminalText.shown(key))' is nothing that can be changed")
                    }
                    let input =
                        scanner.null()
                        ? FieldInput.text("none") : try scanner.input(field.shape, key)
                    if field.rules.contains(.last) {
                        last = (field, input)
                    } else {
                        try change.fields.read(field, input, FieldSource(name: key, context))
                    }
                }
            }
            try scanner.end()
            if let (field, input) = last {
                let source = FieldSource(name: field.key, context)
                try change.fields.read(field, input, source, begin: begin)
            }
        }
        if change == TransferChange() { throw .usage("nothing is to be changed") }
        self = change
    }
}
