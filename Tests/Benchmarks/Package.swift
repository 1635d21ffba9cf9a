// swift-tools-version: 6.2

import PackageDescription

// Not part of the normal build: deploy/bench builds and runs it.
let package = Package(
    name: "lockstep-benchmarks",
    dependencies: [
        .package(name: "lockstep", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "lockstep-bench",
            dependencies: [
                .product(name: "LockstepModel", package: "lockstep"),
                .product(name: "LockstepMotion", package: "lockstep"),
                .product(name: "LockstepSensors", package: "lockstep"),
                .product(name: "LockstepWire", package: "lockstep"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"), .treatAllWarnings(as: .error),
            ])
    ],
    swiftLanguageModes: [.v6]
)
