/// Options of curl, wget, aria2 and rclone that are none here, with their counterparts.
enum ForeignOptions {
    /// The counterpart with the value that was given; `nil`: not an option of these programs.
    ///
    /// - Parameter words: Of the command line, `-x4` and `-x 4` alike.
    static func counterpart(_ word: String, in words: [String]) -> String? {
        guard let (name, index) = find(word, in: words), let meanings = table[name] else {
            return nil
        }
        let value = index.flatMap { given(to: name, at: $0, in: words) } ?? ""
        let meaning = meanings.first { fits(value, $0) } ?? meanings[0]
        guard !value.isEmpty, let place = placeholder(meaning) else { return meaning }
        return meaning.dropLast(place.count) + value
    }

    /// The entry of an option that the parser does not know, and its place in the command line. Of
    /// `-nc` the parser names `-n`.
    private static func find(_ word: String, in words: [String]) -> (String, Int?)? {
        let isLong = word.hasPrefix("--")
        let short = isLong ? word : String(word.prefix(2))
        let index = words.firstIndex {
            isLong ? $0 == word || $0.hasPrefix(word + "=") : $0.hasPrefix(short)
        }
        let whole = index.map { String(words[$0].prefix { $0 != "=" }) } ?? word
        if table[whole] != nil { return (whole, index) }
        return table[short] == nil ? nil : (short, index)
    }

    private static func given(to name: String, at index: Int, in words: [String]) -> String? {
        var value = String(words[index].dropFirst(name.count))
        if value.hasPrefix("=") { value.removeFirst() }
        if !value.isEmpty { return value }
        guard let next = words[(index + 1)...].first, !next.hasPrefix("-") else { return nil }
        // The URL that the command is for.
        let isLast = index + 2 == words.count
        return next.contains("://") && isLast ? nil : next
    }

    /// Whether the counterpart takes such a value.
    private static func fits(_ value: String, _ meaning: String) -> Bool {
        switch placeholder(meaning) {
        case nil: true
        case "N", "SIZE", "DURATION": value.first?.isNumber ?? false
        case "URL": value.contains(":")
        default: !value.isEmpty
        }
    }

    private static func placeholder(_ meaning: String) -> String? {
        placeholders.first { meaning.hasSuffix(" " + $0) }
    }

    private static let placeholders = ["N", "DIR", "FILE", "SIZE", "DURATION", "URL", "LIST"]

    /// The counterparts of each option; the first one that takes its value is meant, else the
    /// first.
    static let table: [String: [String]] = [
        // Number and rate.
        "-x": ["--connections N", "--proxy URL"], "-s": ["--connections N", "-q"],
        "--split": ["--connections N"], "--max-connection-per-server": ["--connections N"],
        "--multi-thread-streams": ["--connections N"],
        "--max-concurrent-downloads": ["--parallel N"], "--transfers": ["--parallel N"],
        "--parallel-max": ["--parallel N"], "-Z": ["nothing: several URLs are fetched at once"],
        "--bwlimit": ["--limit-rate SIZE"], "--max-download-limit": ["--limit-rate SIZE"],
        "--max-overall-download-limit": ["--limit-rate SIZE"],
        "--lowest-speed-limit": ["--min-rate SIZE"], "-Y": ["--min-rate SIZE"],
        "--speed-limit": ["--min-rate SIZE"],
        // Files.
        "-P": ["-d DIR"], "--directory-prefix": ["-d DIR"], "--dir": ["-d DIR"],
        "--output-dir": ["-d DIR"], "--out": ["-o FILE"], "--output-document": ["-o FILE"],
        "-O": ["-o FILE", "nothing: the URL names the file"],
        "--remote-name-all": ["nothing: each URL names its file"], "-J": ["--remote-name"],
        "--remote-header-name": ["--remote-name"], "--content-disposition": ["--remote-name"],
        "-R": ["--remote-time"], "-nc": ["--if-exists skip"], "--no-clobber": ["--if-exists skip"],
        "--ignore-existing": ["--if-exists skip"], "--allow-overwrite": ["--if-exists overwrite"],
        "--auto-file-renaming": ["--if-exists rename"], "--max-filesize": ["--max-size SIZE"],
        "--input-file": ["-i FILE"], "--files-from": ["-i FILE"],
        // Resuming and retrying.
        "-C": ["nothing: a transfer resumes where it was"],
        "--continue-at": ["nothing: a transfer resumes where it was"],
        "-t": ["--retries N"], "--tries": ["--retries N"], "--retry": ["--retries N"],
        "--max-tries": ["--retries N"], "--low-level-retries": ["--retries N"],
        "--retry-on-http-error": ["--retry-status LIST"],
        "--retry-delay": ["nothing: the pause grows by itself"],
        "--retry-wait": ["nothing: the pause grows by itself"],
        "--waitretry": ["nothing: the pause grows by itself"],
        "-T": ["--stall-timeout DURATION", "`longhaul upload FILE URL`"],
        "--timeout": ["--stall-timeout DURATION"],
        "--connect-timeout": ["--stall-timeout DURATION"],
        "-m": ["--deadline DURATION"], "--max-time": ["--deadline DURATION"],
        // Access.
        "-k": ["--insecure"], "--no-check-certificate": ["--insecure"],
        "--ca-certificate": ["--cacert FILE"], "--certificate": ["--cert FILE"],
        "--private-key": ["--key FILE"], "-E": ["--cert FILE"],
        "-u": ["--user U:P"], "--http-user": ["--user U:P"], "--http-passwd": ["--user U:P"],
        "--http-password": ["--user U:P"], "-n": ["--netrc"], "--all-proxy": ["--proxy URL"],
        "--load-cookies": ["--cookies FILE"], "-b": ["--cookies FILE"],
        "--cookie": ["--cookies FILE"],
        "-A": ["-H 'User-Agent: NAME'"], "-U": ["-H 'User-Agent: NAME'"],
        "--user-agent": ["-H 'User-Agent: NAME'"], "-e": ["-H 'Referer: URL'"],
        "--referer": ["-H 'Referer: URL'"],
        "-L": ["nothing: redirects are followed"],
        "--location": ["nothing: redirects are followed"],
        // The command.
        "-f": ["nothing: a failure is exit 1"], "--fail": ["nothing: a failure is exit 1"],
        "-S": ["nothing: errors are shown"], "--show-error": ["nothing: errors are shown"],
        "--silent": ["-q"], "--progress": ["nothing: progress is shown"],
        "-F": ["`longhaul upload --form NAME`"], "--upload-file": ["`longhaul upload FILE URL`"],
        "--background": ["`longhaul enqueue`"], "--daemon": ["`longhaul enqueue`"],
        "--max-transfer": ["`longhaul run --max-bytes SIZE`"],
    ]
}
