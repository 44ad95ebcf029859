// swift-tools-version:6.1
import PackageDescription

// SwiftPM reads the manifests of remote packages in / when it chooses versions, and in a folder
// `checkouts` later. A clone of the project below a folder of that name needs `--traits Command`.
let directory = Context.packageDirectory
let isDependency = directory == "/" || directory.contains("/checkouts/")

// Warnings are errors where the project itself is tested (scripts/test sets the variable), never in
// the builds of those who embed the library with a newer compiler.
let strict = Context.environment["LONGHAUL_WARNINGS_AS_ERRORS"] == "1" && !isDependency

// The oldest versions of the packages, for scripts/test-lowest.
let lowest = Context.environment["LONGHAUL_LOWEST"] == "1"

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + (strict ? [.unsafeFlags(["-warnings-as-errors"])] : [])

func module(
    _ name: String, _ dependencies: [Target.Dependency], path: String? = nil
) -> Target {
    .target(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// A product of another package that SwiftPM fetches for a trait alone. Each use of a package has
/// the condition: one without it fetches the package for every embedder.
func product(_ name: String, _ package: String, for traits: Set<String>) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: traits))
}

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let argumentParser = product("ArgumentParser", "swift-argument-parser", for: ["Command"])
let serviceLifecycle = product(
    "ServiceLifecycle", "swift-service-lifecycle", for: ["Command", "ServiceLifecycle"])
let httpTypes = product("HTTPTypes", "swift-http-types", for: ["Command", "HTTPTypes"])

/// A package from the oldest version that has what is used here: a newer one does not resolve
/// beside an embedder's own package that needs an older one.
func from(_ address: String, _ oldest: Version) -> Package.Dependency {
    let url = "https://github.com/\(address)"
    return lowest ? .package(url: url, exact: oldest) : .package(url: url, from: oldest)
}

func nio(_ names: String...) -> [Target.Dependency] {
    names.map { product($0, "swift-nio", for: ["Command"]) }
}

/// What reads the texts of others.
let readers = [
    "LonghaulModel", "LonghaulCore", "LonghaulStore", "LonghaulPlatform", "LonghaulTransport",
    "Longhaul", "LonghaulServe",
]
let fuzzed: [Target.Dependency] =
    readers.map { .byName(name: $0) } + ["CLonghaul"] + nio("NIOCore", "NIOHTTP1")

let package = Package(
    name: "longhaul",
    products: [
        .library(name: "Longhaul", targets: ["Longhaul"]),
        .library(name: "LonghaulHTTPTypes", targets: ["LonghaulHTTPTypes"]),
        .library(name: "LonghaulURLRequest", targets: ["LonghaulURLRequest"]),
        .library(name: "LonghaulURLSession", targets: ["LonghaulURLSession"]),
        .library(name: "LonghaulServiceLifecycle", targets: ["LonghaulServiceLifecycle"]),
        .library(name: "LonghaulTesting", targets: ["LonghaulTesting"]),
        .executable(name: "longhaul", targets: ["LonghaulCLI"]),
        .executable(name: "longhaul-serve", targets: ["longhaul-serve"]),
        .executable(name: "longhaul-aria2c", targets: ["longhaul-aria2c"]),
    ],
    traits: [
        // None for other packages: they would fetch what the programs of this one need. One alone
        // in a clone: SwiftPM gives each trait to the compiler, several of them in an order that
        // changes from call to call, and each change compiles everything again.
        .default(enabledTraits: isDependency ? [] : ["Command"]),
        .trait(name: "Command", description: "What the programs and the tests need."),
        .trait(name: "HTTPTypes", description: "What LonghaulHTTPTypes needs."),
        .trait(name: "ServiceLifecycle", description: "What LonghaulServiceLifecycle needs."),
        .trait(name: "Metrics", description: "The engine counts with swift-metrics."),
        .trait(
            name: "Tracing",
            description: "The engine reports each request as a span of swift-distributed-tracing."),
    ],
    dependencies: [
        from("apple/swift-argument-parser", "1.6.1"),
        from("apple/swift-distributed-tracing", "1.0.0"),
        from("apple/swift-http-types", "1.0.0"),
        from("apple/swift-log", "1.5.2"),
        from("apple/swift-metrics", "2.4.0"),
        from("apple/swift-nio", "2.100.0"),
        from("swift-server/swift-service-lifecycle", "2.4.1"),
    ],
    targets: [
        // Needs libsqlite3-dev to build.
        .systemLibrary(name: "CSQLite"),
        // Loaded when first used: need libcurl4-openssl-dev and libssl-dev to build, and their
        // libraries to run. CSystemd needs nothing to build.
        .target(name: "CDelayLoad"),
        .target(name: "CLibcurl", dependencies: ["CDelayLoad"]),
        .target(name: "CLibcrypto", dependencies: ["CDelayLoad"]),
        .target(name: "CSystemd", dependencies: ["CDelayLoad"]),
        .target(name: "CLonghaul", dependencies: ["CLibcurl"]),

        // Values and decisions. Store, Platform and Transport need the values alone, so that they
        // are compiled beside the decisions.
        module("LonghaulModel", []),
        module("LonghaulCore", ["LonghaulModel"]),
        module("LonghaulStore", ["LonghaulModel", "CSQLite"]),
        module(
            "LonghaulPlatform", ["LonghaulModel", "CLibcrypto", "CLonghaul", "CSystemd"]),
        module("LonghaulTransport", ["LonghaulModel", "CLonghaul", "CLibcurl"]),
        module(
            "LonghaulEngine",
            [
                "LonghaulCore", "LonghaulStore", "LonghaulPlatform", "LonghaulTransport", logging,
                product("Metrics", "swift-metrics", for: ["Metrics"]),
                product("Tracing", "swift-distributed-tracing", for: ["Tracing"]),
            ]),
        module(
            "Longhaul",
            [
                "LonghaulCore", "LonghaulStore", "LonghaulPlatform", "LonghaulTransport",
                "LonghaulEngine", logging,
            ]),
        module("LonghaulURLRequest", ["Longhaul"]),
        module("LonghaulHTTPTypes", ["Longhaul", httpTypes]),
        // On Apple's systems names for Foundation's own URLSession, which need nothing else.
        module(
            "LonghaulURLSession",
            [
                .target(name: "Longhaul", condition: .when(platforms: [.linux])),
                .target(name: "LonghaulURLRequest", condition: .when(platforms: [.linux])),
            ]),
        module("LonghaulServiceLifecycle", ["Longhaul", serviceLifecycle]),
        // The wire of LonghaulTesting and of the simulation.
        module("LonghaulSimulatedWire", ["LonghaulCore", "LonghaulEngine"]),
        module(
            "LonghaulTesting",
            [
                "Longhaul", "LonghaulCore", "LonghaulStore", "LonghaulPlatform", "LonghaulEngine",
                "LonghaulSimulatedWire", "CLonghaul",
            ]),
        .executableTarget(
            name: "photofetch", dependencies: ["LonghaulURLSession"], swiftSettings: settings),
        .executableTarget(
            name: "photosync", dependencies: ["Longhaul"], swiftSettings: settings),
        .executableTarget(
            name: "feedreader", dependencies: ["Longhaul"], swiftSettings: settings),
        .executableTarget(
            name: "LonghaulCLI",
            dependencies: ["Longhaul", "LonghaulPlatform", argumentParser],
            swiftSettings: settings),

        // Over HTTP; a program of its own, so that the command is quick to build and to start.
        .target(
            name: "LonghaulServe",
            dependencies: ["Longhaul", "LonghaulPlatform"]
                + nio("NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket"),
            swiftSettings: settings),
        .executableTarget(
            name: "longhaul-serve",
            dependencies: ["LonghaulServe", "Longhaul", "LonghaulPlatform", argumentParser],
            swiftSettings: settings),

        .executableTarget(
            name: "longhaul-aria2c", dependencies: ["Longhaul", "LonghaulPlatform"],
            swiftSettings: settings),

        module("LonghaulTestValues", ["LonghaulCore"], path: "Tests/LonghaulTestValues"),
        module(
            "LonghaulTestSupport",
            ["LonghaulTestValues", "LonghaulCore", "CLibcrypto"] + nio("NIOCore", "NIOPosix"),
            path: "Tests/LonghaulTestSupport"),
        .executableTarget(
            name: "LonghaulTestServer", dependencies: ["LonghaulTestSupport"],
            path: "Tests/LonghaulTestServer", swiftSettings: settings),
        .executableTarget(
            name: "LonghaulTestSession", dependencies: ["Longhaul"],
            path: "Tests/LonghaulTestSession", swiftSettings: settings),
        tests("LonghaulCoreTests", ["LonghaulCore", "LonghaulModel", "LonghaulTestValues"]),
        tests("LonghaulStoreTests", ["LonghaulCore", "LonghaulStore", "LonghaulTestValues"]),
        tests(
            "LonghaulPlatformTests", ["LonghaulCore", "LonghaulPlatform", "LonghaulTestSupport"]),
        tests(
            "LonghaulTransportTests", ["LonghaulCore", "LonghaulTransport", "LonghaulTestSupport"]),
        // The simulated world, and the program that lives its seeds (scripts/sim).
        .executableTarget(
            name: "LonghaulSimulation",
            dependencies: [
                "Longhaul", "LonghaulCore", "LonghaulStore", "LonghaulPlatform", "LonghaulEngine",
                "LonghaulSimulatedWire", "CSQLite",
            ],
            path: "Tests/LonghaulSimulation", swiftSettings: settings),
        tests(
            "LonghaulSimulationTests",
            [
                "Longhaul", "LonghaulSimulation", "LonghaulSimulatedWire", "LonghaulCore",
                "LonghaulStore", "LonghaulPlatform", "LonghaulTransport", "LonghaulEngine",
                "LonghaulTestSupport",
            ]),
        tests(
            "LonghaulTests",
            [
                "Longhaul", "LonghaulURLRequest", "LonghaulHTTPTypes", "LonghaulPlatform",
                "LonghaulStore", "LonghaulTestSupport", httpTypes,
            ]),
        tests(
            "LonghaulURLSessionTests",
            [
                "LonghaulURLSession", "Longhaul", "LonghaulTesting", "LonghaulTestSupport",
                "photofetch",
            ]),
        tests(
            "LonghaulServiceLifecycleTests",
            [
                "LonghaulServiceLifecycle", "Longhaul", "LonghaulStore", "LonghaulTestSupport",
                logging, serviceLifecycle,
            ]),
        tests("LonghaulTestingTests", ["LonghaulTesting", "Longhaul", "feedreader"]),
        tests("LonghaulCLITests", ["LonghaulCLI", "LonghaulTestSupport"]),
        tests(
            "LonghaulEndToEndTests", ["LonghaulCore", "LonghaulCLI", "LonghaulTestSupport"]),
        tests(
            "LonghaulServeTests",
            [
                "LonghaulServe", "longhaul-serve", "longhaul-aria2c", "LonghaulCLI", "Longhaul",
                "LonghaulTestSupport",
            ] + nio("NIOPosix", "NIOHTTP1")),
        // The properties of what reads the texts of others, over their corpus. The fuzzer is made
        // of the same sources, see below.
        .testTarget(
            name: "LonghaulFuzzTests", dependencies: fuzzed + ["LonghaulTestValues"],
            exclude: ["Fuzz.swift"],
            swiftSettings: settings),
        tests("TidyTests", []),
    ],
    swiftLanguageModes: [.v6]
)

// LONGHAUL_TARGETS names targets, with spaces between them: these and what they are built from are
// declared then, so that nothing else is fetched or compiled (scripts/longhaul, scripts/test
// --quick).
if let names = Context.environment["LONGHAUL_TARGETS"] {
    declareOnly(Set(names.split(separator: " ").map(String.init)))
}

@MainActor
func declareOnly(_ wanted: Set<String>) {
    // Links where the compiler is told to link libFuzzer, too (scripts/fuzz).
    if wanted.contains("LonghaulFuzz") {
        package.targets.removeAll { $0.name == "LonghaulFuzzTests" }
        package.targets.append(
            .executableTarget(
                name: "LonghaulFuzz", dependencies: fuzzed, path: "Tests/LonghaulFuzzTests",
                exclude: ["CorpusTests.swift"], swiftSettings: settings,
                linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address"])]))
        // Each execution looks at all counters: only what reads has some, or what
        // LONGHAUL_FUZZED names of it. Of several flags the compiler takes the last.
        let counted =
            Context.environment["LONGHAUL_FUZZED"]?.split(separator: " ").map(String.init)
            ?? readers
        for target in package.targets where target.type != .system {
            if target.name == "CLonghaul" {
                target.cSettings = [.unsafeFlags(["-fsanitize=fuzzer-no-link"])]
            }
            let sanitizers = counted.contains(target.name) ? "fuzzer,address" : "address"
            target.swiftSettings?.append(.unsafeFlags(["-sanitize=\(sanitizers)"]))
        }
    }
    var targets = wanted
    var packages: Set<String> = []
    var unread = Array(wanted)
    while let name = unread.popLast() {
        for dependency in package.targets.first(where: { $0.name == name })?.dependencies ?? [] {
            switch dependency {
            case .productItem(_, let owner, _, _): packages.insert(owner ?? "")
            case .targetItem(let name, _), .byNameItem(let name, _):
                if targets.insert(name).inserted { unread.append(name) }
            @unknown default: break
            }
        }
    }
    package.targets.removeAll { !targets.contains($0.name) }
    package.products.removeAll {
        let built = ($0 as? Product.Library)?.targets ?? ($0 as? Product.Executable)?.targets ?? []
        return !targets.isSuperset(of: built)
    }
    package.dependencies.removeAll {
        guard case .sourceControl(_, let address, _) = $0.kind else { return true }
        return !packages.contains { address.hasSuffix("/\($0)") }
    }
}
