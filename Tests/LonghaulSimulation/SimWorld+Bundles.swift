import Longhaul
import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// A life of bundles: their lists change in the middle of a set, servers do not keep to them, and
/// the engine's process, clients and the power end at any effect.
extension SimWorld {
    func liveWithBundles(steps: Int = 140) throws {
        trouble = SimTrouble(&random)
        trouble.enqueues = 0
        say("\(trouble)")
        disk.trouble = trouble
        wire.trouble = trouble
        try drawLimits()
        let bundles = try SimBundles(self)
        self.bundles = bundles
        wire.onQueue = { [unowned self] request in
            checkQueue(request)
            checkBundleRequest(request)
        }
        // Those are looked at before a transfer begins.
        disk.willReplace = { _ in }
        for number in 0..<Int.random(in: 1...3, using: &random) { makeBundle(number) }
        for _ in 0..<steps {
            changeBundles()
            try bundleClientsAct()
            try runBundles()
            if isDead { try crash() }
            try stepInTrouble()
            try checkBundles()
        }
        try makeBundlePeace()
        finishTally()
    }

    private func runBundles() throws {
        guard let bundles, !isDead, random.happens(0.8) else { return }
        try bundles.run()
        try checkBundles()
        if let complaint { throw complaint }
    }

    // MARK: - Servers

    private func makeBundle(_ number: Int) {
        let base = "http://s\(number % 2).test/b\(number)"
        let isOfSums = random.happens(0.3)
        var settings = BundleSettings()
        settings.policy = [.essential, .essential, .prefetch, .onDemand]
            .randomElement(using: &random)!
        settings.every =
            random.happens(0.3) ? Double.random(in: 60...600, using: &random) : nil
        settings.keep = Int.random(in: 0...1, using: &random)
        settings.common.options.retries =
            random.happens(0.5) ? Int.random(in: 0...3, using: &random) : nil
        var bundle = SimBundle(
            name: "b\(number)", list: "\(base)/list", isOfSums: isOfSums,
            directory: "/tmp/longhaul-sim/b\(number)",
            layout: random.happens(0.5) ? .plain : .versions, settings: settings)
        for _ in 0..<Int.random(in: 1...6, using: &random) { addFile(to: &bundle) }
        publish(&bundle)
        bundles?.all.append(bundle)
    }

    private func addFile(to bundle: inout SimBundle) {
        let base = bundle.list.dropLast("/list".count)
        let directory = ["", "", "a/", "a/b/"].randomElement(using: &random)!
        let url = "\(base)/\(directory)f\(nextURL)"
        nextURL += 1
        let most: Int64 = [0, 3_000, 30_000, 30_000, 2_000_000].randomElement(using: &random)!
        // Some bytes are in several files, and in several bundles.
        let isCommon = random.happens(0.3)
        let label = isCommon ? Int.random(in: 900_000...900_002, using: &random) : nextLabel
        let size = isCommon ? 5_000 : Int64.random(in: 0...most, using: &random)
        nextLabel += 1
        var content = SimContent(
            proof: SimContent.Proof.allCases.randomElement(using: &random)!, label: label,
            size: size)
        content.ignoresRanges = random.happens(0.15)
        content.rate = [20_000, 400_000, 3_000_000].randomElement(using: &random)!
        wire.contents[url] = content
        var file = SimBundle.File(path: "\(directory)f\(nextURL - 1)", url: url)
        describe(&file, bundle)
        bundle.files.append(file)
    }

    /// As the server has it. Some lists have no digests, or not even sizes.
    private func describe(_ file: inout SimBundle.File, _ bundle: SimBundle) {
        guard let bytes = wire.contents[file.url]?.current else { return }
        let isProved = bundle.isOfSums || random.happens(0.75)
        file.digest = isProved ? SimDisk.checksum(of: bytes) : nil
        file.size = bundle.isOfSums || random.happens(0.2) ? nil : bytes.count
    }

    /// The server has this list from now on.
    func publish(_ bundle: inout SimBundle) {
        let base = bundle.list.dropLast("list".count)
        var text = ""
        for file in bundle.files {
            if bundle.isOfSums {
                text += "\(file.digest?.hex ?? "")  \(file.path)\n"
                continue
            }
            text += "{\"path\":\"\(file.path)\",\"url\":\"\(file.url.dropFirst(base.count))\""
            if let size = file.size { text += ",\"size\":\(size)" }
            if let digest = file.digest { text += ",\"sha256\":\"\(digest.hex)\"" }
            text += "}\n"
        }
        disk.texts[nextLabel] = Array(text.utf8)
        let size = Int64(text.utf8.count)
        if wire.contents[bundle.list] == nil {
            wire.contents[bundle.list] = SimContent(
                proof: .strongTag, label: nextLabel, size: size)
        } else {
            wire.contents[bundle.list]?.change(label: nextLabel, size: size, grows: false)
        }
        let name = SimDisk.checksum(of: SimBytes(label: nextLabel, count: size)).hex
        nextLabel += 1
        bundle.versions[name] = bundle.files
        say("\(bundle.name) is published as \(name.suffix(8)): \(bundle.files.map(\.path))")
    }

    private func changeBundles() {
        guard let bundles else { return }
        for index in bundles.all.indices {
            if random.happens(trouble.change) { changeList(&bundles.all[index]) }
            if random.happens(trouble.foreign) { disturb(&bundles.all[index]) }
        }
    }

    /// Another version, the truth or not.
    private func changeList(_ bundle: inout SimBundle) {
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let index = Int.random(in: 0..<bundle.files.count, using: &random)
            let url = bundle.files[index].url
            switch Int.random(in: 0..<7, using: &random) {
            case 0 where bundle.files.count < 8: addFile(to: &bundle)
            case 1 where bundle.files.count > 1:
                bundle.files.remove(at: index)
                if random.happens(0.5) { wire.contents[url]?.refusal = 404 }
            case 2: bundle.files[index].digest = SimDisk.checksum(of: SimBytes(label: 0, count: 1))
            case 3 where !bundle.isOfSums: bundle.files[index].size = 1_234
            // Told by the next version, or never.
            case 4: wire.contents[url]?.change(label: nextLabel, size: 2_000, grows: false)
            default:
                let size = Int64.random(in: 0...30_000, using: &random)
                wire.contents[url]?.change(label: nextLabel, size: size, grows: false)
                describe(&bundle.files[index], bundle)
            }
            nextLabel += 1
        }
        publish(&bundle)
    }

    /// A user changes, replaces or deletes a file of the bundle.
    private func disturb(_ bundle: inout SimBundle) {
        let paths = disk.names.keys.sorted().filter {
            $0.hasPrefix(bundle.directory + "/") && disk.version(at: $0) != nil
                && !$0.hasSuffix(".part") && !$0.hasSuffix(".longhaul-new")
        }
        guard let path = paths.randomElement(using: &random), let inode = disk.names[path] else {
            return
        }
        bundle.isDisturbed = true
        bundle.disturbed[path] = now.monotonic
        say("somebody changes \(path)")
        disk.names[path] = nil
        disk.durableNames[path] = nil
        disk.journal.removeAll { $0.inode == inode }
        if random.happens(0.4) { return }
        disk.putForeign(path)
        guard let other = disk.names[path] else { return }
        let size = random.happens(0.5) ? disk.files[inode]?.data.count ?? 0 : 77
        let bytes = SimBytes(label: nextLabel, count: size)
        nextLabel += 1
        disk.files[other]?.data = bytes
        disk.files[other]?.durable = bytes
    }

    // MARK: - Clients

    func bundleClientsAct() throws {
        guard let bundles, !bundles.all.isEmpty else { return }
        let index = Int.random(in: 0..<bundles.all.count, using: &random)
        if !bundles.all[index].isThere {
            if random.happens(0.1) { try act("add", on: index) { try addBundle(index) } }
        } else if bundles.all[index].removal != nil {
            if random.happens(0.3) { try act("remove", on: index) { try removeBundle(index) } }
        } else if random.happens(trouble.wants) {
            try want(index)
        } else if random.happens(trouble.removals / 3) {
            try act("begin to remove", on: index) {
                try bundles.client.cancel(bundles.all[index].name)
                bundles.all[index].removal = Bool.random(using: &random)
            }
        }
    }

    private func want(_ index: Int) throws {
        guard let bundles else { return }
        let name = bundles.all[index].name
        let client = bundles.client
        switch Int.random(in: 0..<9, using: &random) {
        case 0: try act("pause", on: index) { try client.pause(name) }
        case 1, 2: try act("resume", on: index) { try client.resume(name) }
        case 3: try act("cancel", on: index) { try client.cancel(name) }
        case 4: try act("check", on: index) { try client.check(name) }
        case 5: try act("now", on: index) { try client.runNow(name) }
        case 6: try act("verify", on: index) { try verifyBundle(index, repair: false) }
        case 7: try act("ensure", on: index) { _ = try client.want(name, latest: false) }
        default: try act("ensure --latest", on: index) { _ = try client.want(name, latest: true) }
        }
    }

    /// A command, which may be killed within. Whatever it has done, it may be given again.
    func act(_ what: String, on index: Int, _ body: () throws -> Void) throws {
        guard let bundles else { return }
        let name = bundles.all[index].name
        if random.happens(trouble.crash / 2) {
            bundles.clientFuse = Int.random(in: 0...3, using: &random)
        }
        defer { bundles.clientFuse = nil }
        tally.clientActs += 1
        do {
            try body()
            say("\(what) \(name)")
        } catch let complaint as SimComplaint {
            throw complaint
        } catch {
            let error = error as? LonghaulError
            let isKilled = bundles.clientFuse == 0
            say("\(what) \(name) \(isKilled ? "is killed" : "fails: \(String(describing: error))")")
            let isSaid = error?.code == .conflict || error?.code == .noSuchBundle
            if !isKilled, !isSaid, !disk.isReadOnly {
                throw SimComplaint("\(what) \(name): \(String(describing: error))", self)
            }
        }
        if !random.happens(trouble.hint) { inputs.append(.wake) }
        bundles.all[index].isThere = try clients.bundles.all().contains { $0.name == name }
    }

    func addBundle(_ index: Int) throws {
        guard let bundles else { return }
        let bundle = bundles.all[index]
        var new = Bundles.New(bundle.isOfSums ? .checksums(bundle.list) : .list(bundle.list))
        new.name = bundle.name
        new.directory = bundle.directory
        new.layout = bundle.layout
        new.settings = bundle.settings
        _ = try bundles.client.add(new, in: "/tmp")
    }

    func removeBundle(_ index: Int) throws {
        guard let bundles, let keepsFiles = bundles.all[index].removal else { return }
        let bundle = bundles.all[index]
        guard try bundles.client.removeIfEnded(bundle.name, keepingFiles: keepsFiles) else {
            return
        }
        try checkRemoved(bundle, keepsFiles: keepsFiles)
        if keepsFiles { bundles.all[index].hasKeptFiles = true }
        bundles.all[index].forget()
    }

    func verifyBundle(_ index: Int, repair: Bool) throws {
        guard let bundles else { return }
        let bundle = bundles.all[index]
        let ready = try clients.bundles.find(bundle.name).ready
        let wrong = ready.map { wrongFiles(of: bundle, $0.name) } ?? []
        var named: Set<String> = []
        let count = try bundles.client.verify(bundle.name, repair: repair) {
            named.insert($0.path)
        }
        if count > 0 { bundles.all[index].isDisturbed = true }
        let missed = wrong.filter { !named.contains($0) }
        if !missed.isEmpty {
            throw SimComplaint("\(bundle.name): verify finds nothing wrong with \(missed)", self)
        }
    }
}

extension SimBundle {
    /// It was removed.
    mutating func forget() {
        removal = nil
        isThere = false
        ready = nil
        announced = nil
        isDisturbed = false
    }
}
