extension HeaderFields {
    /// In lower case.
    private static let harmless: Set<String> = [
        "range", "if-range", "accept-encoding", "accept", "cache-control", "user-agent",
    ]

    /// Whether a field may go to an origin other than the one that it was given for: where a
    /// redirect leads to, another server's mirror.
    package static func mayGoElsewhere(_ name: String) -> Bool {
        harmless.contains(name.lowercased())
    }

    package var forElsewhere: HeaderFields {
        HeaderFields(fields.filter { HeaderFields.mayGoElsewhere($0.name) })
    }
}
