import ArgumentParser
import Longhaul
import LonghaulPlatform

/// Selects files of a source.
struct BundleFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Of a set: only the files whose path matches (repeatable).", valueName: "glob"))
    var include: [String] = []

    @Option(
        help: ArgumentHelp(
            "Of a set: without the files whose path matches (repeatable).", valueName: "glob"))
    var exclude: [String] = []

    @Option(
        help: ArgumentHelp("Of an image: OS/ARCH (default: this machine's).", valueName: "os/arch"))
    var platform: String?

    @Option(
        help: ArgumentHelp(
            "Of a list: the public key that must have signed it (OpenPGP, minisign, signify).",
            valueName: "file"), completion: .file())
    var signedBy: String?

    var isEmpty: Bool {
        include.isEmpty && exclude.isEmpty && platform == nil && signedBy == nil
    }

    /// Reads SOURCE, with what the environment says about it.
    func bundle(
        _ source: String, _ request: TransferRequest, in queue: TransferQueue
    ) throws -> Bundles.New {
        let environment = Environment.all()
        var new = Bundles.New(
            try BundleSource(
                parsing: source, environment: environment, platform: platform,
                directory: try CurrentDirectory.path))
        new.settings.adopt(request)
        new.settings.include = include
        new.settings.exclude = exclude
        new.settings.signedBy = try signedBy.map { try CurrentDirectory.absolute($0) }
        new.settings.secret = new.source.secret(in: environment)
        if new.source == .list("-") { new.source = .list(try Bundles(queue).keepInput()) }
        return new
    }
}

/// How a bundle is kept.
struct BundleOptions: ParsableArguments {
    @Option(
        name: .customLong("to"),
        help: ArgumentHelp(
            "Its directory (default: NAME, here; of hf-cache the hub's).", valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Option(
        help: ArgumentHelp("plain, versions, hf-cache or oci.", valueName: "layout"),
        completion: .list(BundleLayoutKind.allCases.map(\.rawValue)))
    var layout: String?

    @Option(
        help: ArgumentHelp("essential, prefetch or on-demand.", valueName: "policy"),
        completion: .list(BundlePolicy.allCases.map(\.rawValue)))
    var policy: String?

    @Option(
        help: ArgumentHelp("Look for a newer version this often: 1d.", valueName: "duration"))
    var every: String?

    @Option(help: ArgumentHelp("Old versions that stay (default: 1).", valueName: "n"))
    var keep: Int?

    @Flag(help: "Record the events of single files, too.")
    var fileEvents = false

    @Option(
        help: ArgumentHelp(
            "What a file that somebody has changed is: fail (default) or overwrite.",
            valueName: "policy"), completion: .list(["fail", "overwrite"]))
    var ifExists: String?

    @Option(help: "The host that is started with the bundle's events.")
    var host: String?

    func apply(to new: inout Bundles.New, _ context: InputContext) throws {
        if let layout { new.layout = try OptionText.choice(layout, "--layout") }
        new.directory = try directory.map { try context.absolute($0) }
        if new.layout == .hfCache, new.directory == nil {
            new.directory = BundleSource.hubCache(Environment.all())
        }
        new.host = host
        if let policy { new.settings.policy = try OptionText.choice(policy, "--policy") }
        if let every { new.settings.every = try OptionText.duration(every, "--every") }
        if let keep {
            guard new.layout == .versions else {
                throw LonghaulError.usage("--keep is a part of --layout versions")
            }
            guard (0...1000).contains(keep) else {
                throw LonghaulError.usage("--keep: it is 0 to 1000")
            }
            new.settings.keep = keep
        }
        new.settings.fileEvents = fileEvents
        switch ifExists {
        case "overwrite": new.settings.overwrites = true
        case "fail", nil: break
        case .some: throw LonghaulError.usage("--if-exists: of a bundle it is fail or overwrite")
        }
    }
}
