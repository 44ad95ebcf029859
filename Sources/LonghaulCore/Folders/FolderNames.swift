package import LonghaulModel

/// Ends of names that programs give to files which they have not finished.
private let partialEnds = [".part", ".tmp", ".crdownload", ".longhaul-part"]

/// Chooses files of a directory by the patterns of `--include` and `--exclude`: one without a `/`
/// is matched with the last name of the path.
package struct FileSelection: Sendable {
    private let included: GlobSet
    private let excluded: GlobSet
    private let includedPaths: GlobSet
    private let hasIncluded: Bool
    private let hasIncludedPaths: Bool

    package init(include: [String], exclude: [String]) throws(LonghaulError) {
        included = try GlobSet(include: include.map(Self.anywhere), exclude: [])
        includedPaths = try GlobSet(include: include.filter { $0.contains("/") }, exclude: [])
        excluded = try GlobSet(include: [], exclude: exclude.map(Self.anywhere))
        hasIncluded = !include.isEmpty
        hasIncludedPaths = include.contains { $0.contains("/") }
    }

    private static func anywhere(_ pattern: String) -> String {
        pattern.contains("/") || pattern.isEmpty ? pattern : "**/" + pattern
    }

    package func selects(_ path: String) -> Bool {
        excluded.selects(path) && included.selects(path)
    }

    /// The path may be that of a file which a watched folder sends: hidden and partial names are
    /// left out unless a pattern includes them, and hidden directories unless it names the path.
    package func selectsComplete(_ path: String) -> Bool {
        if !selects(path) { return false }
        var names = path.split(separator: "/")
        let name = names.removeLast()
        if names.contains(where: { $0.hasPrefix(".") }) {
            return hasIncludedPaths && includedPaths.selects(path)
        }
        if hasIncluded { return true }
        return !name.hasPrefix(".") && !partialEnds.contains { name.hasSuffix($0) }
    }

    /// Files below the directory may be selected.
    ///
    /// - Parameter directory: Its path, without a slash at the end.
    package func mayDescend(into directory: String) -> Bool {
        let isHidden = directory.split(separator: "/").contains { $0.hasPrefix(".") }
        return !isHidden || hasIncludedPaths
    }
}
