
package.dependencies += [
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
]
package.targets.append(
    .executableTarget(
        name: "measured",
        dependencies: [
            .product(name: "Longhaul", package: "longhaul"),
            .product(name: "LonghaulServiceLifecycle", package: "longhaul"),
            .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            .product(name: "Logging", package: "swift-log"),
            .product(name: "Metrics", package: "swift-metrics"),
            .product(name: "MetricsTestKit", package: "swift-metrics"),
            .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            .product(name: "Tracing", package: "swift-distributed-tracing"),
        ]))
