// swift-tools-version:6.2
import PackageDescription

let package = Package(
    name: "keep",
    dependencies: [.package(path: "../longhaul", traits: [])],
    targets: [
        .executableTarget(
            name: "keep", dependencies: [.product(name: "Longhaul", package: "longhaul")])
    ])
