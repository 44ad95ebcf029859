/// The place of an upload over FTP or SFTP, and the commands that change names there.
///
/// libcurl decodes the path before it splits it at its slashes. The path of an FTP URL begins at
/// the directory of the login, that of an SFTP URL at the root, or with `/~/` at the home.
package struct RemoteFile: Hashable, Sendable {
    private enum Way { case ftp, sftp }

    private let way: Way
    /// Scheme, credentials, host and port, as written.
    private let site: String
    /// Decoded, with its last slash.
    private let directory: String
    /// Decoded.
    package let name: String

    /// `nil` if the URL has another protocol.
    package init?(_ url: String) {
        if url.beginsIgnoringCase(with: "sftp:") {
            way = .sftp
        } else if url.beginsIgnoringCase(with: "ftp:") || url.beginsIgnoringCase(with: "ftps:") {
            way = .ftp
        } else {
            return nil
        }
        guard let mark = url.utf8.firstRange(of: "://".utf8) else { return nil }
        let rest = url.utf8[mark.upperBound...]
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        let end = rest[slash...].firstIndex(of: UInt8(ascii: "#")) ?? rest.endIndex
        site = String(url[..<slash])
        let path = PercentEncoding.decode(String(url[slash..<end]))
        let split = (path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1
        directory = String(decoding: path[..<split], as: UTF8.self)
        name = String(decoding: path[split...], as: UTF8.self)
    }

    /// Why a file cannot be sent there; `nil` = it can.
    package var problem: String? {
        if name.isEmpty || name == "." || name == ".." {
            return "the URL names a directory; write the name of the file after it"
        }
        let path = directory + name
        if path.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) {
            return "the URL has a control character in its path"
        }
        if path.unicodeScalars.contains("\u{FFFD}") { return "the URL's path is no UTF-8" }
        // libcurl would cut the name there (RFC 1738 §3.2.2).
        if way == .ftp, path.utf8.firstRange(of: ";type=".utf8) != nil {
            return "files are sent as they are; leave ;type= out"
        }
        return nil
    }

    // MARK: - URLs

    /// URL of another name in the file's directory; an empty name gives the directory itself.
    func url(of name: String) -> String {
        site + PercentEncoding.encode((directory + name).utf8, keeping: [UInt8(ascii: "/")])
    }

    /// The name under which the bytes come in. Two machines may send a file of that name there.
    ///
    /// - Parameter source: The version that was handed over: the name stays when it is changed.
    func temporaryName(_ transfer: TransferID, _ source: SourceVersion?) -> String {
        hiddenName(transfer, source) + "part"
    }

    /// The name under which the old file stands until the new one has its name.
    func asideName(_ transfer: TransferID, _ source: SourceVersion?) -> String {
        hiddenName(transfer, source) + "old"
    }

    private func hiddenName(_ transfer: TransferID, _ source: SourceVersion?) -> String {
        let mark = source.map { String(UInt64(bitPattern: $0.changed) ^ $0.inode << 20, radix: 36) }
        // Names have at most 255 bytes nearly everywhere.
        let shown = name.utf8.count <= 180 ? name : ""
        return ".\(shown).\(transfer)-\(mark ?? "0").longhaul-"
    }

    // MARK: - Commands

    /// Commands for libcurl: FTP commands, or its SFTP commands. FTP commands are sent when the
    /// file's directory is the current one.
    func renaming(_ name: String, to other: String) -> [String] {
        switch way {
        case .ftp: ["RNFR \(name)", "RNTO \(other)"]
        case .sftp: ["rename \(quoted(name)) \(quoted(other))"]
        }
    }

    /// Renames if possible: the file may be missing, and the other one may stand in the way.
    func renamingIfPossible(_ name: String, to other: String) -> [String] {
        renaming(name, to: other).map { "*" + $0 }
    }

    /// Removes a file that may be missing.
    func removing(_ name: String) -> [String] {
        switch way {
        case .ftp: ["*DELE \(name)"]
        case .sftp: ["*rm \(quoted(name))"]
        }
    }

    /// libcurl replaces `/~/` by the home only outside of quotes; the server resolves relative
    /// paths from there.
    private func quoted(_ name: String) -> String {
        let home = "/~/"
        let path =
            directory.hasPrefix(home) ? String(directory.dropFirst(home.count)) : directory
        var quoted = "\""
        for character in (path + name).unicodeScalars {
            if character == "\"" || character == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "\""
    }
}
