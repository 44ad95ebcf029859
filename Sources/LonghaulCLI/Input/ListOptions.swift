import ArgumentParser
import Longhaul

/// URLs of the command line, or a list of requests.
struct ListOptions: ParsableArguments {
    @Argument(help: "What to fetch; - reads a list from the standard input.")
    var urls: [String] = []

    @Option(
        name: [.customShort("i"), .customLong("input")],
        help: ArgumentHelp("Read requests from this file.", valueName: "file"),
        completion: .file())
    var input: String?

    @OptionGroup var shard: ShardOptions

    func validate() throws {
        if urls.isEmpty, input == nil {
            throw ValidationError("a URL, or -, or --input FILE is needed")
        }
        if urls.contains("-"), urls.count > 1 || input != nil {
            throw ValidationError("- stands alone: the other URLs come from the standard input")
        }
    }

    /// The one argument, if it is the source of a bundle.
    func bundleSource(_ files: BundleFileOptions) throws(LonghaulError) -> String? {
        guard let source = urls.first(where: BundleSource.isSource) else {
            if files.isEmpty { return nil }
            throw .usage(
                "--include, --exclude, --platform, --signed-by are for sets of files (hf:, sums:)")
        }
        if urls.count > 1 || input != nil {
            throw .usage("a set of files stands alone; give the URLs to another command")
        }
        return source
    }

    /// Checks a command whose `-o` names a file.
    func check(_ place: PlaceOptions) throws {
        if place.output != nil, urls.contains("-") || input != nil || urls.count > 1 {
            throw ValidationError("-o names one file; for several URLs use -d DIR")
        }
    }

    /// `nil` = all URLs are on the command line.
    func lines() throws(LonghaulError) -> ByteLines? {
        guard let path = input ?? (urls.contains("-") ? "-" : nil) else { return nil }
        return try ByteLines(path: path)
    }

    func source(
        _ template: RequestTemplate, _ lines: ByteLines?, _ context: InputContext,
        passesOverEnded: Bool = false
    ) -> BatchInput {
        BatchInput(
            urls: urls.contains("-") ? [] : urls, lines: lines, template: template,
            context: context, shard: shard.part, passesOverEnded: passesOverEnded)
    }
}
