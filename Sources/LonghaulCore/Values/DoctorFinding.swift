/// What one check has found.
public struct DoctorFinding: Hashable, Sendable {
    public var check: String
    public var ok: Bool
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
