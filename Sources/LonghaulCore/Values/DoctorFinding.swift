/// What one check has found.
public struct DoctorFinding: Hashable, Sendable {
    /// What was checked, in a word or two: `store`, `clock`.
    public var check: String
    /// Whether nothing is to be done.
    public var ok: Bool
    /// What was found.
    public var detail: String
    /// What to do; `nil` if nothing.
    public var fix: String?

    package init(check: String, ok: Bool, detail: String, fix: String? = nil) {
        self.check = check
        self.ok = ok
        self.detail = detail
        self.fix = fix
    }
}
