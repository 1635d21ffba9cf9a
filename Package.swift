// swift-tools-version: 6.2

import PackageDescription

/// Compiler settings of every target.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),  // boxing a protocol value has a cost: make it visible
    .enableUpcomingFeature("InternalImportsByDefault"),  // `public import` shows what a module exposes
    .enableUpcomingFeature("MemberImportVisibility"),  // each file imports the modules it uses
    .treatAllWarnings(as: .error),  // tolerated warnings hide new ones
]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdTLS: Target.Dependency = .product(name: "HummingbirdTLS", package: "hummingbird")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let nioHTTPTypes: Target.Dependency = .product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let swiftProtobuf: Target.Dependency = .product(name: "SwiftProtobuf", package: "swift-protobuf")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")

let package = Package(
    name: "lockstep",
    products: [
        .library(name: "LockstepModel", targets: ["LockstepModel"]),
        .library(name: "LockstepClock", targets: ["LockstepClock"]),
        .library(name: "LockstepWire", targets: ["LockstepWire"]),
        .library(name: "LockstepMQTT", targets: ["LockstepMQTT"]),
        .library(name: "LockstepStore", targets: ["LockstepStore"]),
        .library(name: "LockstepClickHouse", targets: ["LockstepClickHouse"]),
        .library(name: "LockstepExport", targets: ["LockstepExport"]),
        .library(name: "LockstepMotion", targets: ["LockstepMotion"]),
        .library(name: "LockstepSensors", targets: ["LockstepSensors"]),
        .library(name: "LockstepDevice", targets: ["LockstepDevice"]),
        .library(name: "LockstepAgent", targets: ["LockstepAgent"]),
        .library(name: "LockstepCollector", targets: ["LockstepCollector"]),
        .library(name: "LockstepSparkplug", targets: ["LockstepSparkplug"]),
        .library(name: "LockstepGateway", targets: ["LockstepGateway"]),
        .library(name: "LockstepBridge", targets: ["LockstepBridge"]),
        .library(name: "LockstepLive", targets: ["LockstepLive"]),
        .library(name: "LockstepServe", targets: ["LockstepServe"]),
        .library(name: "LockstepSystem", targets: ["LockstepSystem"]),
        .executable(name: "lockstep-agent", targets: ["lockstep-agent"]),
        .executable(name: "lockstep-collector", targets: ["lockstep-collector"]),
        .executable(name: "lockstep-serve", targets: ["lockstep-serve"]),
        .executable(name: "lockstep-gateway", targets: ["lockstep-gateway"]),
        .executable(name: "lockstep", targets: ["lockstep"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // HTTP, for LockstepServe only. Without its traits it does not import all of Foundation.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        // For LockstepSparkplug only. Without its traits it does not import all of Foundation.
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0", traits: []),
    ],
    targets: [
        // Debian: libmosquitto-dev, libsqlite3-dev, libyaml-dev, libsodium-dev, libcurl4-openssl-dev, libnats-dev, zlib1g-dev.
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3"),
        // Parses settings files. A Swift YAML package would import all of Foundation and triple the size of each
        // program.
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1"),
        // Decrypts OwnTracks messages.
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium"),
        // Unpacks compressed messages.
        .systemLibrary(name: "CZlib", pkgConfig: "zlib"),
        // HTTP and SMTP: requests to a ClickHouse server, and notifications. A Swift HTTP client with TLS would double the
        // size of the collector.
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl"),
        // Leases of collectors in a NATS cluster. The Swift client would add SwiftNIO and BoringSSL.
        .systemLibrary(name: "CNATS", pkgConfig: "libnats"),
        // epoll, for waiting on many sockets. Swift's Glibc module does not include it.
        .systemLibrary(name: "CEpoll"),
        // Chooses the address of a host for libmosquitto.
        .target(name: "CResolver"),
        // adjtimex, for the discipline of the wall clock. Swift's Glibc module does not include it.
        .systemLibrary(name: "CTimex"),

        // Basic types: samples, streams, timestamps, identifiers, life-cycle states.
        .target(name: "LockstepModel"),
        // The comparison of two clocks: estimates with bounds, and the conversion of times.
        .target(name: "LockstepClock", dependencies: ["CTimex", "LockstepModel"]),
        // MQTT topics and payload encodings.
        .target(name: "LockstepWire", dependencies: ["LockstepModel"]),
        // The MQTT client. The only module that calls libmosquitto.
        .target(name: "LockstepMQTT", dependencies: ["CEpoll", "CMosquitto", "CResolver"]),
        // Key-value buckets of NATS clusters. The only module that calls libnats.
        .target(name: "LockstepNATS", dependencies: ["CNATS"]),
        // The SQLite wrapper. The only module that calls libsqlite3.
        .target(name: "LockstepSQLite", dependencies: ["CSQLite"]),
        // The sample store, which holds each sample once.
        .target(name: "LockstepStore", dependencies: ["LockstepModel", "LockstepSQLite"]),
        // The sample store in a ClickHouse database.
        .target(name: "LockstepClickHouse", dependencies: ["CCurl", "LockstepModel", "LockstepStore"]),
        // File formats of exported samples.
        .target(name: "LockstepExport", dependencies: ["LockstepModel", "LockstepClock", "LockstepStore"]),
        // Algorithms without I/O: attitude, filters, gestures, steps.
        .target(name: "LockstepMotion", dependencies: ["LockstepModel"]),
        // Sensor sources, and the hub that shares them between consumers.
        .target(name: "LockstepSensors", dependencies: ["LockstepModel", "LockstepMotion"]),
        // Motion manager, pedometer and location manager, for your own programs.
        .target(name: "LockstepDevice", dependencies: ["LockstepModel", "LockstepMotion", "LockstepSensors"]),
        // Readiness, status and watchdog notifications for a supervisor such as systemd.
        .target(name: "LockstepSupervision"),
        // Starts child processes that end with their parent. In C, because Swift has no vfork.
        .target(name: "CProcess"),
        // A system on one machine: starts, supervises and stops its programs, and lets them fail.
        .target(name: "LockstepSystem", dependencies: ["CProcess", "LockstepMQTT"]),
        // From sensor to broker: time line, coalescing, outbox, delivery.
        .target(
            name: "LockstepAgent",
            dependencies: [
                "LockstepModel", "LockstepClock", "LockstepWire", "LockstepMQTT", "LockstepSQLite", "LockstepSensors",
                "LockstepSupervision", logging, serviceLifecycle,
            ]),
        // From broker to store: ingest, acknowledgement, life cycle.
        .target(
            name: "LockstepCollector",
            dependencies: [
                "LockstepModel", "LockstepClock", "LockstepWire", "LockstepMQTT", "LockstepNATS", "LockstepStore",
                "LockstepRules", "LockstepNotify",
                "LockstepSupervision", logging, serviceLifecycle,
            ]),
        // The messages of Sparkplug B. The only module that uses swift-protobuf, so that only the gateway pays for its build.
        .target(name: "LockstepSparkplug", dependencies: [swiftProtobuf], exclude: ["Schema"]),
        // From foreign formats to the broker: translators, an outbox of many devices, delivery.
        .target(
            name: "LockstepGateway",
            dependencies: [
                "CCurl", "CSodium", "CZlib", "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepSQLite",
                "LockstepAgent",
                "LockstepSparkplug", "LockstepSupervision", logging, serviceLifecycle,
            ],
            exclude: ["Page"]),
        // The HTTP server of a gateway.
        .target(
            name: "LockstepGatewayHTTP",
            dependencies: [
                "LockstepGateway", "LockstepHTTP", "LockstepModel", "LockstepWire", hummingbird, hummingbirdCore,
                nioCore, nioPosix, httpTypes, logging, serviceLifecycle,
            ]),
        // From Lockstep's messages to other systems: Home Assistant, Sparkplug.
        .target(
            name: "LockstepBridge",
            dependencies: [
                "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepSparkplug", logging, serviceLifecycle,
            ]),
        // The live picture of all devices, from the broker's messages, and its distribution to many subscribers.
        .target(name: "LockstepLive", dependencies: ["LockstepModel", "LockstepWire", "LockstepMQTT", logging]),
        // Simulates thousands of devices in one process and measures their delivery.
        .target(
            name: "LockstepFleet",
            dependencies: [
                "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepSensors", "LockstepAgent",
                "LockstepSupervision",
            ]),
        // The parts that HTTP servers share: listener, TLS, limits, problem documents, files.
        .target(
            name: "LockstepHTTP",
            dependencies: [
                "LockstepWire", hummingbirdCore, hummingbirdTLS, nioCore, nioHTTPTypes, nioPosix, nioSSL, httpTypes,
                logging,
            ]),
        // The HTTP server: its routes, rights and limits.
        .target(
            name: "LockstepServe",
            dependencies: [
                "CSodium", "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepSQLite", "LockstepStore",
                "LockstepClickHouse", "LockstepExport",
                "LockstepHTTP", "LockstepLive", "LockstepSupervision", hummingbird,
                hummingbirdCore, nioCore, nioPosix, httpTypes, logging, serviceLifecycle,
            ],
            exclude: ["Page"]),
        // Rules and their evaluation, without I/O.
        .target(name: "LockstepRules", dependencies: ["LockstepModel", "LockstepMotion"]),
        // Sends notifications by webhook, ntfy, e-mail and commands.
        .target(
            name: "LockstepNotify",
            dependencies: ["CCurl", "CSodium", "LockstepModel", "LockstepRules", "LockstepStore", "LockstepWire"]),
        // Rules in YAML files.
        .target(
            name: "LockstepRuleFiles",
            dependencies: ["LockstepModel", "LockstepMotion", "LockstepRules", "LockstepCommandLine"]),
        // Shared by the programs: settings, errors, terminal output.
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
                "LockstepClickHouse", "LockstepCollector", "LockstepCommandLine", "LockstepMQTT", "LockstepNATS",
                "LockstepRuleFiles",
                "LockstepSupervision", argumentParser, logging, serviceLifecycle, unixSignals,
            ]),
        .executableTarget(
            name: "lockstep-gateway",
            dependencies: [
                "LockstepGateway", "LockstepGatewayHTTP", "LockstepBridge", "LockstepHTTP", "LockstepAgent",
                "LockstepModel", "LockstepMQTT", "LockstepSparkplug",
                "LockstepWire", "LockstepCommandLine", "LockstepSupervision", argumentParser, logging, serviceLifecycle,
            ]),
        .executableTarget(
            name: "lockstep-serve",
            dependencies: [
                "LockstepClickHouse", "LockstepWire", "LockstepMQTT", "LockstepHTTP", "LockstepServe",
                "LockstepCommandLine", "LockstepSupervision", argumentParser, logging, serviceLifecycle,
            ]),
        .executableTarget(
            name: "lockstep",
            dependencies: [
                "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepStore", "LockstepClickHouse",
                "LockstepExport", "LockstepAgent", "LockstepFleet", "LockstepLive", "LockstepMotion", "LockstepSensors",
                "LockstepCommandLine", "LockstepRules", "LockstepRuleFiles", "LockstepSQLite", "LockstepSystem",
                argumentParser,
            ]),

        .testTarget(
            name: "LockstepModelTests", dependencies: ["LockstepModel", "LockstepSensors", "SensorTestSupport"]),
        .testTarget(name: "LockstepClockTests", dependencies: ["LockstepClock", "LockstepModel", "LockstepWire"]),
        .testTarget(
            name: "LockstepWireTests",
            dependencies: ["LockstepModel", "LockstepSensors", "LockstepWire", "SensorTestSupport"]),
        .testTarget(name: "LockstepNATSTests", dependencies: ["LockstepNATS", "LockstepTestSupport"]),
        .testTarget(
            name: "LockstepMQTTTests",
            dependencies: ["LockstepMQTT", "LockstepSensors", "LockstepTestSupport", "SensorTestSupport"]),
        // Recordings, a seeded random number generator, and a sink that records samples.
        .target(
            name: "SensorTestSupport", dependencies: ["LockstepModel", "LockstepSensors"],
            path: "Tests/SensorTestSupport"),
        .testTarget(
            name: "LockstepMotionTests",
            dependencies: ["LockstepModel", "LockstepMotion", "LockstepSensors", "SensorTestSupport"],
            exclude: ["Attitude/reference.py"]),
        .testTarget(
            name: "LockstepSensorsTests",
            dependencies: [
                "LockstepModel", "LockstepMotion", "LockstepSensors", "LockstepTestSupport", "SensorTestSupport",
            ]),
        .testTarget(
            name: "LockstepDeviceTests",
            dependencies: [
                "LockstepDevice", "LockstepModel", "LockstepMotion", "LockstepSensors", "LockstepStore",
                "LockstepTestSupport", "SensorTestSupport",
            ]
        ),
        .testTarget(
            name: "LockstepStoreTests", dependencies: ["LockstepStore", "LockstepSQLite", "LockstepTestSupport"]),
        .testTarget(
            name: "LockstepClickHouseTests",
            dependencies: [
                "LockstepClickHouse", "LockstepCollector", "LockstepModel", "LockstepRuleFiles", "LockstepRules",
                "LockstepSensors", "LockstepStore", "LockstepTestSupport",
            ]),
        .testTarget(name: "LockstepExportTests", dependencies: ["LockstepExport", "LockstepModel", "LockstepStore"]),
        .testTarget(
            name: "LockstepAgentTests",
            dependencies: [
                "LockstepAgent", "LockstepModel", "LockstepMQTT", "LockstepSensors", "LockstepSQLite", "LockstepWire",
                "LockstepTestSupport", "SensorTestSupport", logging,
            ]),
        .testTarget(
            name: "LockstepCollectorTests",
            dependencies: [
                "LockstepCollector", "LockstepModel", "LockstepMQTT", "LockstepNATS", "LockstepRuleFiles",
                "LockstepRules", "LockstepSensors", "LockstepStore", "LockstepSupervision", "LockstepTestSupport",
                "LockstepWire", "SensorTestSupport", logging,
            ]),
        .testTarget(
            name: "LockstepGatewayTests",
            dependencies: [
                "CSodium", "LockstepGateway", "LockstepAgent", "LockstepExport", "LockstepModel", "LockstepMQTT",
                "LockstepSQLite", "LockstepSparkplug", "LockstepStore", "LockstepWire",
                "LockstepTestSupport",
            ]),
        .testTarget(
            name: "LockstepBridgeTests",
            dependencies: [
                "LockstepBridge", "LockstepModel", "LockstepMQTT", "LockstepSparkplug", "LockstepTestSupport",
                "LockstepWire", logging, serviceLifecycle,
            ],
            exclude: ["home_assistant.py"]),
        .testTarget(
            name: "LockstepLiveTests",
            dependencies: [
                "LockstepLive", "LockstepModel", "LockstepMQTT", "LockstepTestSupport", "LockstepWire", logging,
            ]),
        .testTarget(
            name: "LockstepRulesTests",
            dependencies: [
                "LockstepCommandLine", "LockstepModel", "LockstepMotion", "LockstepNotify", "LockstepRuleFiles",
                "LockstepRules", "LockstepSensors", "LockstepStore", "LockstepWire", "SensorTestSupport",
            ]),
        .testTarget(name: "LockstepFleetTests", dependencies: ["LockstepFleet", "LockstepModel", "LockstepWire"]),
        .testTarget(
            name: "LockstepCommandLineTests",
            dependencies: [
                "LockstepCommandLine", "LockstepModel", "LockstepMQTT", "LockstepTestSupport", argumentParser, logging,
            ]),
        // The HTTP server: its parts, and the built program with a real broker and a real store.
        .testTarget(
            name: "LockstepServeTests",
            dependencies: [
                "LockstepServe", "LockstepClickHouse", "LockstepExport", "LockstepHTTP", "LockstepModel",
                "LockstepMQTT",
                "LockstepStore", "LockstepWire", "LockstepTestSupport", "lockstep", "lockstep-agent",
                "lockstep-collector",
                "lockstep-serve", logging,
                hummingbirdCore, nioCore, nioEmbedded, nioHTTPTypes, httpTypes,
            ],
            exclude: ["System/schemathesis.toml", "System/schemathesis-known.toml"]),
        .testTarget(name: "LockstepSystemTests", dependencies: ["LockstepSystem", "LockstepTestSupport"]),
        .testTarget(name: "LockstepSupervisionTests", dependencies: ["LockstepSupervision", "LockstepTestSupport"]),
        // Helpers for tests: brokers, child processes, temporary folders, deadlines.
        .target(
            name: "LockstepTestSupport",
            dependencies: [
                "LockstepClickHouse", "LockstepModel", "LockstepMQTT", "LockstepStore", "LockstepSystem",
            ],
            path: "Tests/LockstepTestSupport", exclude: ["clickhouse_engine.py"]),
        // System tests: the built programs with a real broker.
        .testTarget(
            name: "SystemTests",
            dependencies: [
                "LockstepTestSupport", "LockstepAgent", "LockstepCollector", "LockstepMQTT", "LockstepModel",
                "LockstepNATS", "LockstepSensors", "LockstepSQLite", "LockstepStore", "LockstepWire", "lockstep",
                "lockstep-agent",
                "lockstep-collector", "lockstep-gateway", "lockstep-serve", logging,
            ],
            exclude: ["Gateway/sparkplug_peer.py", "PowerCut/disk-log.c"]),
        // Command-line tests: exact output and exit codes.
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "LockstepTestSupport", "LockstepAgent", "LockstepClickHouse", "LockstepCommandLine", "LockstepModel",
                "LockstepSQLite",
                "LockstepStore",
                "LockstepWire", "lockstep", "lockstep-agent", "lockstep-collector", "lockstep-gateway",
                "lockstep-serve",
            ],
            exclude: ["Export/read_exports.py"]),
        // The page, in a browser, with the built programs.
        .testTarget(
            name: "PageTests",
            dependencies: [
                "LockstepTestSupport", "lockstep", "lockstep-agent", "lockstep-collector", "lockstep-serve",
                "lockstep-gateway",
            ],
            exclude: [
                "accessibility.js", "browser.py", "join_gateway.py", "join_scenarios.py", "join_server.py", "phone.py",
                "run.py", "run_join.py", "runner.py", "scenarios.py", "screenshots.py", "system.py", "tiles.py", "unit",
            ]),
        // The examples and tables in docs/.
        .testTarget(
            name: "LockstepDocumentationTests",
            dependencies: [
                "LockstepAgent", "LockstepCollector", "LockstepDevice", "LockstepMQTT", "LockstepModel",
                "LockstepMotion",
                "LockstepSensors", "LockstepStore", "LockstepWire", logging,
            ]),
        // Fuzz tests: randomly damaged input for every decoder.
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "LockstepCommandLine", "LockstepGateway", "LockstepModel", "LockstepSensors", "LockstepSparkplug",
                "LockstepWire",
            ]),
        // Chaos tests: processes are killed at random, and no sample may be lost.
        .testTarget(
            name: "ChaosTests",
            dependencies: [
                "LockstepTestSupport", "LockstepAgent", "LockstepModel", "LockstepSensors", "LockstepSQLite",
                "LockstepStore", "lockstep", "lockstep-agent", "lockstep-collector",
            ],
            exclude: ["read-only-disk.c"]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}

// Set by deploy/check for sanitizer builds, which run the unit tests only. Leaving out the programs, the tests that run
// them, the HTTP server and the slow algorithm tests halves the build.
if Context.environment["LOCKSTEP_UNIT_TESTS_ONLY"] != nil {
    let excluded = [
        "LockstepMotionTests", "SystemTests", "CommandTests", "ChaosTests", "PageTests", "LockstepGatewayHTTP",
        "LockstepHTTP", "LockstepServe",
        "LockstepServeTests",
    ]
    package.products.removeAll { $0 is Product.Executable || excluded.contains($0.name) }
    package.targets.removeAll { $0.type == .executable || excluded.contains($0.name) }
}

// For another architecture, see deploy/test-arm64: only the tests without I/O.
if Context.environment["LOCKSTEP_PURE_TESTS_ONLY"] != nil {
    let pure = ["LockstepModel", "LockstepClock", "LockstepWire", "LockstepMotion"]
    let kept = pure + pure.map { $0 + "Tests" } + ["CTimex", "LockstepSensors", "SensorTestSupport"]
    package.products.removeAll { !kept.contains($0.name) }
    package.targets.removeAll { !kept.contains($0.name) }
    package.dependencies = []
}
