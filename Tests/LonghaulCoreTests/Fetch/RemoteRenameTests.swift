import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// An upload over FTP to a name that another file has. Whatever the server refuses, and wherever
/// the engine is killed or the connection cut, the old or the new file stands under the name in
/// the end, and nothing is lost.
@Suite struct RemoteRenameTests {
    private static let size: Int64 = 5 << 20

    /// What the server does at a rename.
    enum Server: CaseIterable {
        /// RNTO takes the place of another file.
        case replaces
        /// RNTO is refused where another file stands.
        case keeps
        case refusesRNFR
        case refusesRNTO
        /// No file gets the target's name by renaming, but for the one that had it.
        case refusesTarget
    }

    private static let old = "old"
    private static let new = "new"

    /// The files of a server, and a fault at one of the commands that change something.
    fileprivate final class Disk {
        let server: Server
        var files: [String: String]
        var commands: [String] = []
        /// After so many commands the engine is killed, or the connection is cut.
        var faultAfter = Int.max
        var kills = false

        init(_ server: Server, hasTarget: Bool) {
            self.server = server
            files = hasTarget ? ["f": RemoteRenameTests.old] : [:]
        }

        /// Nothing is put to its name but by a rename that came through.
        private func rename(_ from: String, to: String) -> Bool {
            guard let content = files[from] else { return false }
            switch server {
            case .replaces: break
            case .keeps: if files[to] != nil { return false }
            case .refusesRNFR, .refusesRNTO: return false
            case .refusesTarget:
                if to == "f", files[to] != nil || content != RemoteRenameTests.old { return false }
            }
            files[from] = nil
            files[to] = content
            return true
        }

        /// `nil` = cut; `false` = refused.
        private func perform(_ commands: [String]) -> Bool? {
            var from = ""
            for command in commands {
                if self.commands.count == faultAfter {
                    faultAfter = .max
                    return nil
                }
                let words = command.split(separator: " ", maxSplits: 1).map(String.init)
                var isDone = true
                switch words[0] {
                case "RNFR":
                    from = words[1]
                    isDone = files[from] != nil && server != .refusesRNFR
                case "RNTO": isDone = rename(from, to: words[1])
                case "*DELE": files[words[1]] = nil
                default: Issue.record("\(command)")
                }
                self.commands.append(command)
                if !isDone { return false }
            }
            return true
        }

        func serve(_ exchange: UploadExchange) -> RepeatedRequests.Answer? {
            let path = exchange.url.split(separator: "/").last.map(String.init) ?? ""
            var isDone = perform(exchange.body.commands.before)
            if isDone == true, exchange.purpose == .whole { files[path] = RemoteRenameTests.new }
            if isDone == true { isDone = perform(exchange.body.commands.after) }
            guard let isDone else { return kills ? nil : ended(exchange, 56, "cut") }
            if !isDone { return ended(exchange, 21, "550 no") }
            if exchange.purpose == .ask {
                guard let content = files[path] else { return ended(exchange, 78, "550 no file") }
                let size = content == RemoteRenameTests.new ? RemoteRenameTests.size : 100
                return ended(exchange, nil, "", "Content-Length: \(size)")
            }
            return ended(exchange, nil, "")
        }

        private func ended(
            _ exchange: UploadExchange, _ code: Int32?, _ text: String, _ fields: String...
        ) -> RepeatedRequests.Answer {
            var end = SegmentEnd(
                failure: code.map { .curl(code: $0, text: text, osError: 0) }, writtenThrough: 0,
                bytesReceived: 0)
            end.bytesSent = exchange.body.content?.length ?? 0
            if code != nil { return (nil, end) }
            let fields = fields + ["Server: none"]
            return (head(200, fields[0], scheme: .ftp), end)
        }
    }

    private func upload(to disk: Disk) -> RepeatedRequests {
        var request = TransferRequest(url: "ftp://h/f", destination: .file("/f"))
        request.options.upload = UploadOptions()
        return RepeatedRequests(request, size: Self.size, for: 3600) { exchange, _ in
            disk.serve(exchange)
        }
    }

    private func isCompleted(_ log: RepeatedRequests) -> Bool {
        if case .completed? = log.end { true } else { false }
    }

    /// Whether the file gets its name, with and without another file there.
    @Test(arguments: Server.allCases, [false, true])
    func withoutFaults(_ server: Server, hasTarget: Bool) {
        let disk = Disk(server, hasTarget: hasTarget)
        let log = upload(to: disk)
        let succeeds = server == .replaces || server == .keeps
        #expect(isCompleted(log) == succeeds, "\(String(describing: log.end))")
        #expect(disk.files["f"] == (succeeds ? Self.new : hasTarget ? Self.old : nil))
        #expect(disk.files.count == (succeeds ? 1 : hasTarget ? 2 : 1), "\(disk.files)")
        #expect(!disk.commands.contains("*DELE f"))
        if !succeeds {
            guard case .needsInput(_, let error, _)? = log.end else {
                Issue.record("\(String(describing: log.end))")
                return
            }
            #expect(error.message.firstRange(of: "550 no") != nil)
            #expect(error.message.firstRange(of: "--in-place") != nil)
        }
    }

    @Test(arguments: Server.allCases, [false, true])
    func aFaultBetweenAnyTwoCommands(_ server: Server, kills: Bool) {
        for fault in 0..<14 {
            let disk = Disk(server, hasTarget: true)
            disk.faultAfter = fault
            disk.kills = kills
            let log = upload(to: disk)
            let succeeds = server == .replaces || server == .keeps
            #expect(isCompleted(log) == succeeds, "\(fault): \(disk.commands) \(disk.files)")
            #expect(
                disk.files["f"] == (succeeds ? Self.new : Self.old),
                "\(fault): \(disk.commands) \(disk.files)")
            // Besides the target only the new file that has no name.
            #expect(
                disk.files.count == (succeeds ? 1 : 2),
                "\(fault): \(disk.commands) \(disk.files)")
            #expect(!disk.commands.contains("*DELE f"))
        }
    }

    /// A cancel in the middle gives the old file its name back.
    @Test(arguments: 0..<12) func aCancelBetweenAnyTwoCommands(fault: Int) throws {
        let disk = Disk(.keeps, hasTarget: true)
        let source = SourceVersion(device: 1, inode: 2, size: Self.size, modified: 3, changed: 4)
        let request = TransferRequest(uploadTo: "ftp://h/f", source)
        var kept = RemoteFileUpload.Kept()
        // As far as the commands came, with what was recorded before them.
        for swap in [RemoteSwap?.none, .swapping] {
            kept.swap = swap
            let exchange = try UploadState(.remoteFile(kept))
                .conversation(request, offset: swap == nil ? 0 : Self.size).next()
            guard let exchange else { continue }
            kept.address = exchange.address
            disk.faultAfter = fault
            disk.kills = true
            if disk.serve(exchange) == nil { break }
        }
        disk.faultAfter = .max
        let left = AbandonedUpload(
            id: 1, fetch: FetchID(rawValue: 1), transfer: TransferID(rawValue: 1),
            request: request, state: UploadState(.remoteFile(kept)), attempts: 1)
        let abort = try #require(left.exchange)
        #expect(abort.body.commands.before.allSatisfy { $0.hasPrefix("*") })
        disk.giveUp(abort)
        #expect(disk.files["f"] != nil, "\(disk.commands) \(disk.files)")
    }
}

extension RemoteRenameTests.Disk {
    /// Commands that may fail, one by one.
    fileprivate func giveUp(_ exchange: UploadExchange) {
        var from: String?
        for command in exchange.body.commands.before {
            let words = command.dropFirst().split(separator: " ", maxSplits: 1).map(String.init)
            switch words[0] {
            case "RNFR": from = files[words[1]] == nil ? nil : words[1]
            case "RNTO":
                if let from, files[words[1]] == nil {
                    files[words[1]] = files.removeValue(forKey: from)
                }
            default: files[words[1]] = nil
            }
        }
    }
}
