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
        .library(name: "LockstepMotion", targets: ["LockstepMotion"]),
        .library(name: "LockstepSensors", targets: ["LockstepSensors"]),
        .library(name: "LockstepDevice", targets: ["LockstepDevice"]),
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
    ],
    targets: [
        // Debian: libmosquitto-dev, libsqlite3-dev, libyaml-dev.
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3"),
        // For settings, rather than a package around it that wants all of Foundation: each program would be three times as
        // large.
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1"),
        // Waiting for many sockets at once; Swift's module of the C library leaves it out.
        .systemLibrary(name: "CEpoll"),

        // Words: samples, streams, time, identifiers, life-cycle states.
        .target(name: "LockstepModel"),
        // Topics and payloads.
        .target(name: "LockstepWire", dependencies: ["LockstepModel"]),
        // The only place that calls libmosquitto.
        .target(name: "LockstepMQTT", dependencies: ["CEpoll", "CMosquitto"]),
        // The only place that calls libsqlite3.
        .target(name: "LockstepSQLite", dependencies: ["CSQLite"]),
        // Where samples are kept, once.
        .target(name: "LockstepStore", dependencies: ["LockstepModel", "LockstepSQLite"]),
        // What samples mean: attitude, filters, gestures, steps, as values without I/O.
        .target(name: "LockstepMotion", dependencies: ["LockstepModel"]),
        // Where samples come from, and who asks for them.
        .target(name: "LockstepSensors", dependencies: ["LockstepModel", "LockstepMotion"]),
        // Motion manager, pedometer and location manager, for programs of other people.
        .target(name: "LockstepDevice", dependencies: ["LockstepModel", "LockstepMotion", "LockstepSensors"]),
        // What systemd, or whoever watches over a program, is told.
        .target(name: "LockstepSupervision"),
        // Sensor to broker: time line, coalescing, outbox, delivery.
        .target(
            name: "LockstepAgent",
            dependencies: [
                "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepSQLite", "LockstepSensors",
                "LockstepSupervision", logging, serviceLifecycle,
            ]),
        // Broker to store: ingest, acknowledgement, life cycle.
        .target(
            name: "LockstepCollector",
            dependencies: [
                "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepStore", "LockstepSupervision", logging,
                serviceLifecycle,
            ]),
        // Thousands of devices played by one process, and what became of all they sent.
        .target(
            name: "LockstepFleet",
            dependencies: [
                "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepSensors", "LockstepAgent",
                "LockstepSupervision",
            ]),
        // What the three programs share: settings, errors, terminal.
        .target(
            name: "LockstepCommandLine",
            dependencies: [
                "CYAML", "LockstepModel", "LockstepMQTT", argumentParser, logging, serviceLifecycle, unixSignals,
            ]),

        .executableTarget(
            name: "lockstep-agent",
            dependencies: [
                "LockstepAgent", "LockstepMotion", "LockstepCommandLine", "LockstepSupervision", argumentParser,
                logging,
                serviceLifecycle, unixSignals,
            ]),
        .executableTarget(
            name: "lockstep-collector",
            dependencies: [
                "LockstepCollector", "LockstepCommandLine", "LockstepSupervision", argumentParser, logging,
                serviceLifecycle,
            ]),
        .executableTarget(
            name: "lockstep",
            dependencies: [
                "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepStore", "LockstepAgent", "LockstepFleet",
                "LockstepMotion", "LockstepSensors", "LockstepCommandLine", argumentParser,
            ]),

        .testTarget(
            name: "LockstepModelTests", dependencies: ["LockstepModel", "LockstepSensors", "SensorTestSupport"]),
        .testTarget(
            name: "LockstepWireTests",
            dependencies: ["LockstepModel", "LockstepSensors", "LockstepWire", "SensorTestSupport"]),
        .testTarget(name: "LockstepMQTTTests", dependencies: ["LockstepMQTT", "LockstepSensors", "SensorTestSupport"]),
        // Recordings, random choices that can be repeated, and a sink that remembers.
        .target(
            name: "SensorTestSupport", dependencies: ["LockstepModel", "LockstepSensors"],
            path: "Tests/SensorTestSupport"),
        .testTarget(
            name: "LockstepMotionTests",
            dependencies: ["LockstepModel", "LockstepMotion", "LockstepSensors", "SensorTestSupport"],
            exclude: ["Attitude/reference.py"]),
        .testTarget(
            name: "LockstepSensorsTests",
            dependencies: ["LockstepModel", "LockstepMotion", "LockstepSensors", "SensorTestSupport"]),
        .testTarget(
            name: "LockstepDeviceTests",
            dependencies: [
                "LockstepDevice", "LockstepModel", "LockstepMotion", "LockstepSensors", "LockstepStore",
                "LockstepTestSupport", "SensorTestSupport",
            ]
        ),
        .testTarget(name: "LockstepStoreTests", dependencies: ["LockstepStore", "LockstepSQLite"]),
        .testTarget(
            name: "LockstepAgentTests",
            dependencies: [
                "LockstepAgent", "LockstepModel", "LockstepMQTT", "LockstepSensors", "LockstepSQLite", "LockstepWire",
                "LockstepTestSupport", "SensorTestSupport", logging,
            ]),
        .testTarget(
            name: "LockstepCollectorTests",
            dependencies: [
                "LockstepCollector", "LockstepModel", "LockstepMQTT", "LockstepSensors", "LockstepStore",
                "LockstepTestSupport", "LockstepWire", "SensorTestSupport", logging,
            ]),
        .testTarget(name: "LockstepFleetTests", dependencies: ["LockstepFleet", "LockstepModel", "LockstepWire"]),
        .testTarget(
            name: "LockstepCommandLineTests",
            dependencies: ["LockstepCommandLine", "LockstepModel", "LockstepMQTT", argumentParser, logging]),
        .testTarget(name: "LockstepSupervisionTests", dependencies: ["LockstepSupervision", "LockstepTestSupport"]),
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
                "lockstep-collector", logging,
            ]),
        // The command line as people see it: exact output, exit codes.
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "LockstepTestSupport", "LockstepAgent", "LockstepCommandLine", "LockstepModel", "LockstepStore",
                "LockstepWire", "lockstep", "lockstep-agent", "lockstep-collector",
            ]),
        // The examples and tables in docs/.
        .testTarget(
            name: "LockstepDocumentationTests",
            dependencies: [
                "LockstepAgent", "LockstepCollector", "LockstepDevice", "LockstepMQTT", "LockstepModel",
                "LockstepMotion",
                "LockstepSensors", "LockstepStore", "LockstepWire", logging,
            ]),
        // Input damaged at random, for every decoder.
        .testTarget(
            name: "FuzzTests",
            dependencies: ["LockstepCommandLine", "LockstepModel", "LockstepSensors", "LockstepWire"]),
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

// A sanitizer looks at the parts: without the programs, and without the tests that run them or compute for minutes, there
// is half as much to build for it. deploy/check sets this.
if Context.environment["LOCKSTEP_ONLY_PARTS"] != nil {
    let others = ["LockstepMotionTests", "SystemTests", "CommandTests", "ChaosTests"]
    package.products.removeAll { $0 is Product.Executable }
    package.targets.removeAll { $0.type == .executable || others.contains($0.name) }
}
