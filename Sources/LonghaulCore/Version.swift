/// The project's version, as `--version` says it and as servers are told.
public enum LonghaulVersion {
    /// Semantic versioning: MAJOR.MINOR.PATCH.
    public static let current = "0.2.0"
}
