// swift-tools-version: 6.2

import PackageDescription

/// What every target of this package is compiled with.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),  // a boxed protocol costs; it should show in the source
    .enableUpcomingFeature("InternalImportsByDefault"),  // `public import` says what a module exposes
    .enableUpcomingFeature("MemberImportVisibility"),  // a file imports what it uses, not what a neighbour imported
    .treatAllWarnings(as: .error),  // a warning that may stay is never read again
]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")

let package = Package(
    name: "lockstep",
    products: [
        .library(name: "LockstepModel", targets: ["LockstepModel"]),
        .library(name: "LockstepWire", targets: ["LockstepWire"]),
        .library(name: "LockstepMQTT", targets: ["LockstepMQTT"]),
        .library(name: "LockstepStore", targets: ["LockstepStore"]),
        .library(name: "LockstepSensors", targets: ["LockstepSensors"]),
        .library(name: "LockstepAgent", targets: ["LockstepAgent"]),
        .library(name: "LockstepCollector", targets: ["LockstepCollector"]),
        .executable(name: "lockstep-agent", targets: ["lockstep-agent"]),
        .executable(name: "lockstep-collector", targets: ["lockstep-collector"]),
        .executable(name: "lockstep", targets: ["lockstep"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    ],
    targets: [
        // Debian: libmosquitto-dev, libsqlite3-dev.
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3"),

        // Words: samples, streams, time, identifiers, life-cycle states.
        .target(name: "LockstepModel"),
        // Topics and payloads.
        .target(name: "LockstepWire", dependencies: ["LockstepModel"]),
        // The only place that calls libmosquitto.
        .target(name: "LockstepMQTT", dependencies: ["CMosquitto"]),
        // The only place that calls libsqlite3.
        .target(name: "LockstepSQLite", dependencies: ["CSQLite"]),
        // Where samples are kept, once.
        .target(name: "LockstepStore", dependencies: ["LockstepModel", "LockstepSQLite"]),
        // Where samples come from.
        .target(name: "LockstepSensors", dependencies: ["LockstepModel"]),
        // Sensor to broker: time line, coalescing, outbox, delivery.
        .target(
            name: "LockstepAgent",
            dependencies: [
                "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepSQLite", "LockstepSensors",
                logging, serviceLifecycle,
            ]),
        // Broker to store: ingest, acknowledgement, life cycle.
        .target(
            name: "LockstepCollector",
            dependencies: [
                "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepStore", logging, serviceLifecycle,
            ]),
        // What the three programs share: settings, errors, terminal.
        .target(
            name: "LockstepCommandLine",
            dependencies: ["LockstepModel", "LockstepMQTT", argumentParser, logging, "Yams"]),

        .executableTarget(
            name: "lockstep-agent",
            dependencies: [
                "LockstepAgent", "LockstepCommandLine", argumentParser, logging, serviceLifecycle, unixSignals,
            ]),
        .executableTarget(
            name: "lockstep-collector",
            dependencies: [
                "LockstepCollector", "LockstepCommandLine", argumentParser, logging, serviceLifecycle, unixSignals,
            ]),
        .executableTarget(
            name: "lockstep",
            dependencies: [
                "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepStore", "LockstepAgent",
                "LockstepCommandLine", argumentParser,
            ]),

        .testTarget(name: "LockstepModelTests", dependencies: ["LockstepModel", "LockstepSensors"]),
        .testTarget(name: "LockstepWireTests", dependencies: ["LockstepModel", "LockstepSensors", "LockstepWire"]),
        .testTarget(name: "LockstepMQTTTests", dependencies: ["LockstepMQTT", "LockstepSensors"]),
        .testTarget(name: "LockstepSensorsTests", dependencies: ["LockstepSensors"]),
        .testTarget(name: "LockstepStoreTests", dependencies: ["LockstepStore", "LockstepSQLite"]),
        .testTarget(
            name: "LockstepAgentTests",
            dependencies: [
                "LockstepAgent", "LockstepModel", "LockstepMQTT", "LockstepSensors", "LockstepSQLite", "LockstepWire",
                logging,
            ]),
        .testTarget(
            name: "LockstepCollectorTests",
            dependencies: [
                "LockstepCollector", "LockstepModel", "LockstepMQTT", "LockstepSensors", "LockstepStore",
                "LockstepWire",
            ]),
        .testTarget(
            name: "LockstepCommandLineTests",
            dependencies: ["LockstepCommandLine", "LockstepModel", "LockstepMQTT", argumentParser]),
        // Brokers, programs, folders and deadlines for tests.
        .target(
            name: "LockstepTestSupport", dependencies: ["LockstepMQTT", "LockstepStore"],
            path: "Tests/LockstepTestSupport"),
        // The programs as people run them, with a real broker.
        .testTarget(
            name: "SystemTests",
            dependencies: [
                "LockstepTestSupport", "LockstepAgent", "LockstepCollector", "LockstepMQTT", "LockstepModel",
                "LockstepSensors", "LockstepSQLite", "LockstepStore", "LockstepWire", "lockstep", "lockstep-agent",
                "lockstep-collector",
            ]),
        // The command line as people see it: exact output, exit codes.
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "LockstepTestSupport", "LockstepAgent", "LockstepCommandLine", "LockstepModel", "LockstepStore",
                "LockstepWire", "lockstep", "lockstep-agent", "lockstep-collector",
            ]),
        // Everything killed at random, and nothing lost.
        .testTarget(
            name: "ChaosTests",
            dependencies: [
                "LockstepTestSupport", "LockstepModel", "LockstepStore", "lockstep", "lockstep-agent",
                "lockstep-collector",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
