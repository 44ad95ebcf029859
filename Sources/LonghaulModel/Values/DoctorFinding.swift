/// The finding of one check.
public struct DoctorFinding: Hashable, Sendable {
    /// The subject of the check, in a word or two: `store`, `clock`.
    public var check: String
    /// True if no action is needed.
    public var ok: Bool
    /// The finding in a sentence.
    public var detail: String
    /// The remedy; `nil` if none is needed.
    public var fix: String?

    package init(check: String, ok: Bool, detail: String, fix: String? = nil) {
        self.check = check
        self.ok = ok
        self.detail = detail
        self.fix = fix
    }
}
