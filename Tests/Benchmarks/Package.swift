// swift-tools-version: 6.2

import PackageDescription

// Not part of the normal build. deploy/bench builds and runs it.
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
                .product(name: "LockstepAgent", package: "lockstep"),
                .product(name: "LockstepLive", package: "lockstep"),
                .product(name: "LockstepModel", package: "lockstep"),
                .product(name: "LockstepMotion", package: "lockstep"),
                .product(name: "LockstepSensors", package: "lockstep"),
                .product(name: "LockstepStore", package: "lockstep"),
                .product(name: "LockstepSystem", package: "lockstep"),
                .product(name: "LockstepWire", package: "lockstep"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"), .treatAllWarnings(as: .error),
            ]),
        // Alternatives to compare with, in C.
        .executableTarget(name: "insert-rows", linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("m")]),
        .executableTarget(name: "count-messages", linkerSettings: [.linkedLibrary("mosquitto")]),
        // Waits until a collector has stored all samples.
        .executableTarget(name: "await-samples", linkerSettings: [.linkedLibrary("sqlite3")]),
        // Runs a program and measures it.
        .executableTarget(name: "run-measured"),
        .executableTarget(name: "publish-samples", linkerSettings: [.linkedLibrary("mosquitto")]),
        // Publishes the same messages for all sides.
        .executableTarget(name: "publish-load", linkerSettings: [.linkedLibrary("mosquitto")]),
        // Publishes messages at the times at which they are due.
        .executableTarget(name: "publish-paced", linkerSettings: [.linkedLibrary("mosquitto")]),
        .executableTarget(name: "append-rows"),
        // Many clients of live samples in one process.
        .executableTarget(name: "read-events"),
        .executableTarget(name: "subscribe-many", linkerSettings: [.linkedLibrary("mosquitto")]),
    ],
    swiftLanguageModes: [.v6]
)
