/// Something that `install` or `uninstall` did, or would have somebody do.
package enum InstallStep: Hashable, Sendable {
    package enum Change: String, Hashable, Sendable {
        case written, unchanged, removed
    }

    /// A unit, or the file that has the engine started.
    case file(String, Change)
    /// Our lines in the user's crontab.
    case crontab(Change)
    /// A command that was run; `failure` = what it said.
    case command(String, failure: String?)
    /// What is left to do by hand, and why.
    case advice(String, command: String)
}

/// What `install --print` shows: a file's text, or the lines of the crontab.
package struct InstallText: Hashable, Sendable {
    /// `nil` = the crontab.
    package var path: String?
    package var text: String
}
