import Testing

/// What each module may see. The package manifest says nearly the same, but lets a module import
/// what a dependency of its dependency brings along.
@Suite struct WallTests {
    private static let allowed: [String: Set<String>] = [
        // Pure: no clock, no file, no randomness but what it is given.
        "LonghaulModel": [],
        "LonghaulCore": ["LonghaulModel"],
        "LonghaulStore": [
            "LonghaulModel", "CSQLite", "FoundationEssentials", "Glibc", "Musl", "Synchronization",
        ],
        "LonghaulPlatform": [
            "LonghaulModel", "CLibcrypto", "CLonghaul", "CSystemd", "Glibc", "Musl",
            "Synchronization",
        ],
        "LonghaulTransport": [
            "LonghaulModel", "CLonghaul", "CLibcurl", "Glibc", "Musl", "Synchronization",
        ],
        "LonghaulEngine": [
            "LonghaulCore", "LonghaulStore", "LonghaulPlatform", "LonghaulTransport", "Logging",
            "Synchronization",
            // Each under the trait of its name.
            "Metrics", "Tracing",
        ],
        "Longhaul": [
            "LonghaulCore", "LonghaulStore", "LonghaulPlatform", "LonghaulTransport",
            "LonghaulEngine", "FoundationEssentials", "Logging",
            "Synchronization",
        ],
        // Apart, because whoever imports it links a second HTTP client.
        "LonghaulURLRequest": ["Longhaul", "FoundationEssentials", "FoundationNetworking"],
        // Apart, because whoever imports it fetches swift-http-types.
        "LonghaulHTTPTypes": ["Longhaul", "FoundationEssentials", "HTTPTypes"],
        // Foundation's names; on Apple's systems nothing but Foundation.
        "LonghaulURLSession": [
            "Longhaul", "LonghaulURLRequest", "Foundation", "FoundationNetworking",
            "Synchronization",
        ],
        // Apart, because a program that imports it needs a service group.
        "LonghaulServiceLifecycle": ["Longhaul", "ServiceLifecycle"],
        // Drives an engine of its own in a simulated world.
        "LonghaulSimulatedWire": ["LonghaulCore", "LonghaulEngine"],
        "LonghaulTesting": [
            "Longhaul", "LonghaulCore", "LonghaulStore", "LonghaulPlatform", "LonghaulEngine",
            "LonghaulSimulatedWire", "CLonghaul", "FoundationEssentials", "Glibc",
            "Synchronization",
        ],
        // Samples: what embedders see.
        "feedreader": ["Longhaul", "FoundationEssentials", "Glibc"],
        "photofetch": ["LonghaulURLSession", "Foundation"],
        "photosync": ["Longhaul", "FoundationEssentials", "Glibc"],
        // System calls are the platform module's, the queue and the engine the library's.
        "LonghaulCLI": ["Longhaul", "LonghaulPlatform", "ArgumentParser", "Synchronization"],
        "LonghaulServe": [
            "Longhaul", "LonghaulPlatform", "NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket",
            "Synchronization",
        ],
        "longhaul-aria2c": ["Longhaul", "LonghaulPlatform"],
        "longhaul-serve": ["LonghaulServe", "Longhaul", "LonghaulPlatform", "ArgumentParser"],
    ]

    private let sources = Repository.sources

    @Test func everyModuleHasItsWalls() {
        let modules = Set(sources.map(\.module))
        #expect(modules == Set(Self.allowed.keys))
    }

    @Test func imports() {
        var complaints = Complaints()
        defer { complaints.report() }
        for file in sources {
            let allowed = Self.allowed[file.module] ?? []
            for module in file.imports where !allowed.contains(module) {
                complaints.add("\(file.path) imports \(module)")
            }
        }
    }
}
