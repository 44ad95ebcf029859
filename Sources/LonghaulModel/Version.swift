/// The project's version, as `--version` prints it and as servers receive it.
public enum LonghaulVersion {
    /// Semantic versioning: MAJOR.MINOR.PATCH.
    public static let current = "0.2.0"
}
