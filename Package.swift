// swift-tools-version: 6.2

import PackageDescription

/// The modules of other packages, and the package of each.
let products = [
    "ArgumentParser": "swift-argument-parser", "Logging": "swift-log", "ServiceLifecycle": "swift-service-lifecycle",
    "UnixSignals": "swift-service-lifecycle", "Hummingbird": "hummingbird", "HummingbirdCore": "hummingbird",
    "HummingbirdTLS": "hummingbird", "NIOCore": "swift-nio", "NIOEmbedded": "swift-nio", "NIOPosix": "swift-nio",
    "NIOHTTPTypes": "swift-nio-extras", "NIOSSL": "swift-nio-ssl", "HTTPTypes": "swift-http-types",
    "SwiftProtobuf": "swift-protobuf",
]

/// Compiler settings of every target.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),  // boxing a protocol value has a cost: make it visible
    .enableUpcomingFeature("InternalImportsByDefault"),  // `public import` shows what a module exposes
    .enableUpcomingFeature("MemberImportVisibility"),  // each file imports the modules it uses
    .treatAllWarnings(as: .error),  // tolerated warnings hide new ones
]

/// Targets whose name does not begin with `Lockstep`.
let otherNames: Set<String> = [
    "CMosquitto", "CSQLite", "CYAML", "CSodium", "CZlib", "CCurl", "CNATS", "CLinux", "SensorTestSupport",
    "SystemTests",
    "CommandTests", "PageTests", "FuzzTests", "ChaosTests", "lockstep", "lockstep-agent", "lockstep-collector",
    "lockstep-serve", "lockstep-gateway", "lockstep-cluster",
]

/// The full name of a target. Below, `Model` is the module `LockstepModel`, and so on; `SystemTests` test all programs.
func target(_ name: String) -> String {
    otherNames.contains(name) || name.hasPrefix("Lockstep") ? name : "Lockstep" + name
}

/// The dependencies of a target, from the names of the modules that it imports.
func dependencies(_ names: String) -> [Target.Dependency] {
    names.split(separator: " ").map(String.init).map { name in
        products[name].map { .product(name: name, package: $0, condition: .when(traits: ["Programs"])) }
            ?? .target(name: target(name))
    }
}

func module(_ name: String, _ names: String = "", exclude: [String] = []) -> Target {
    .target(name: target(name), dependencies: dependencies(names), exclude: exclude, swiftSettings: settings)
}

func program(_ name: String, _ names: String, path: String? = nil) -> Target {
    .executableTarget(name: name, dependencies: dependencies(names), path: path, swiftSettings: settings)
}

/// A module for tests, in the folder of the tests.
func support(_ name: String, _ names: String, exclude: [String] = []) -> Target {
    let module = module(name, names, exclude: exclude)
    module.path = "Tests/\(module.name)"
    return module
}

/// Tests. Those that run programs name these too, so that they are built before.
func tests(_ name: String, _ names: String, exclude: [String] = []) -> Target {
    .testTarget(
        name: target(name), dependencies: dependencies(names), exclude: exclude, swiftSettings: settings)
}

/// C libraries. Debian: libmosquitto-dev, libsqlite3-dev, libyaml-dev, libsodium-dev, libcurl4-openssl-dev, libnats-dev,
/// zlib1g-dev.
let shims: [Target] = [
    .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto"),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3"),
    // Parses settings files. A Swift YAML package would import all of Foundation.
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1"),
    // Decrypts OwnTracks messages.
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium"),
    // Packs and unpacks messages and archives, and computes the checksums of MCAP.
    .systemLibrary(name: "CZlib", pkgConfig: "zlib"),
    // HTTP and SMTP. A Swift HTTP client with TLS would double the size of the collector.
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl"),
    // Leases of collectors in a NATS cluster. The Swift client would add SwiftNIO and BoringSSL.
    .systemLibrary(name: "CNATS", pkgConfig: "libnats"),
    // Of Linux, what Swift's Glibc module does not include: epoll, adjtimex, vfork, a choice of getaddrinfo's
    // answers, reading ahead.
    .target(name: "CLinux"),
]

let libraries = [
    "LockstepModel", "LockstepWire", "LockstepMQTT", "LockstepStore", "LockstepClickHouse", "LockstepExport",
    "LockstepMotion", "LockstepSensors", "LockstepDevice", "LockstepAgent", "LockstepCollector", "LockstepGateway",
    "LockstepLive", "LockstepServe", "LockstepSystem",
]
let programs = ["lockstep-agent", "lockstep-collector", "lockstep-serve", "lockstep-gateway", "lockstep"]

let package = Package(
    name: "lockstep",
    products: libraries.map { .library(name: $0, targets: [$0]) }
        + programs.map { .executable(name: $0, targets: [$0]) },
    traits: [
        .default(enabledTraits: ["Programs"]),
        .trait(
            name: "Programs",
            description: "All modules. Without it, a package that needs only LockstepDevice fetches no other package."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // Without their traits, Hummingbird and swift-protobuf do not import all of Foundation.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0", traits: []),
    ],
    targets: shims + [
        // Basic types: samples, streams, timestamps, identifiers, life-cycle states, the comparison of two clocks; the process.
        module("Model", "CLinux"),
        // MQTT topics and payload encodings.
        module("Wire", "Model"),
        // The MQTT client. The only module that calls libmosquitto.
        module("MQTT", "CLinux CMosquitto Model Logging"),
        // The SQLite wrapper. The only module that calls libsqlite3.
        module("SQLite", "CSQLite"),
        // The sample store, which holds each sample once.
        module("Store", "Model SQLite"),
        // Requests of HTTP and SMTP, and gzip. The only module that owns handles of libcurl and zlib.
        module("Transfer", "CCurl CZlib"),
        // The sample store in a ClickHouse database.
        module("ClickHouse", "CCurl Model Store Transfer"),
        // File formats of exported samples.
        module("Export", "CZlib Model Store"),
        // Algorithms without I/O: attitude, filters, gestures, steps.
        module("Motion", "Model"),
        // Sensor sources, and the hub that shares them between consumers.
        module("Sensors", "Model Motion"),
        // Motion manager, pedometer and location manager, for your own programs.
        module("Device", "Model Motion Sensors"),
        // A system on one machine: starts, supervises and stops its programs, and lets them fail.
        module("System", "CLinux Model SQLite"),
        // From sensor to broker: time line, coalescing, outbox, delivery; and thousands of simulated devices in one process.
        module("Agent", "Model Wire MQTT SQLite Sensors Logging ServiceLifecycle"),
        // Rules and their evaluation, without I/O.
        module("Rules", "Model Motion"),
        // From broker to store: ingest, acknowledgement, life cycle, ownership in a cluster. The only module that calls libnats.
        module(
            "Collector",
            "CCurl CNATS CSodium Model Wire MQTT Store Transfer Rules Logging ServiceLifecycle"),
        // From foreign formats to the broker, and from Lockstep's messages to Home Assistant and Sparkplug.
        module(
            "Gateway",
            "CCurl CSodium Model Wire MQTT SQLite Transfer Agent Logging ServiceLifecycle "
                + "SwiftProtobuf", exclude: ["Page", "Sparkplug/Messages/Schema"]),
        // The live picture of all devices, from the broker's messages, and its distribution to many subscribers.
        module("Live", "Model Wire MQTT Motion Logging"),
        // The parts that HTTP servers share: start and stop, listener, TLS, limits, problem documents, files.
        module(
            "HTTP",
            "Transfer Wire HTTPTypes Hummingbird HummingbirdCore HummingbirdTLS Logging NIOCore NIOHTTPTypes NIOPosix "
                + "NIOSSL ServiceLifecycle"),
        // The HTTP server: its routes, rights and limits.
        module(
            "Serve",
            "CSodium Model Wire MQTT SQLite Store Transfer ClickHouse Export Motion Rules Live HTTP HTTPTypes "
                + "Hummingbird HummingbirdCore Logging NIOCore ServiceLifecycle", exclude: ["Page"]),
        // Shared by the programs: settings, rule files, errors, terminal output.
        module(
            "CommandLine",
            "CLinux CYAML Model Wire MQTT Motion Rules ArgumentParser Logging ServiceLifecycle UnixSignals"),

        program(
            "lockstep-agent",
            "Model Wire MQTT Motion Sensors Agent CommandLine ArgumentParser Logging ServiceLifecycle "
                + "UnixSignals"),
        program(
            "lockstep-collector",
            "Model Wire MQTT Store ClickHouse Rules Collector CommandLine ArgumentParser Logging "
                + "ServiceLifecycle UnixSignals"),
        program("lockstep-serve", "Model Wire MQTT ClickHouse HTTP Serve CommandLine ArgumentParser Logging"),
        program(
            "lockstep-gateway",
            "Model Wire MQTT Transfer Agent Gateway HTTP CommandLine ArgumentParser HTTPTypes Hummingbird "
                + "HummingbirdCore Logging NIOCore ServiceLifecycle"),
        program(
            "lockstep",
            "CSodium Model Wire MQTT SQLite Store Transfer ClickHouse Export Motion Sensors System Agent Rules Live "
                + "CommandLine ArgumentParser"),

        // Helpers for tests: brokers, child processes, temporary folders, deadlines.
        support(
            "TestSupport",
            "Model MQTT Store ClickHouse System", exclude: ["clickhouse_engine.py", "http_handler.py", "test-disk.c"]),
        // Recordings, a seeded random number generator, and a sink that records samples.
        support("SensorTestSupport", "Model Sensors"),
        tests("ModelTests", "Model Wire Sensors SensorTestSupport"),
        tests("WireTests", "Model Wire Sensors SensorTestSupport"),
        tests("MQTTTests", "Model MQTT Sensors TestSupport"),
        tests("StoreTests", "Model SQLite Store TestSupport"),
        tests("ClickHouseTests", "Model Store ClickHouse Sensors Rules Collector CommandLine TestSupport"),
        tests("ExportTests", "Model Store Sensors Export TestSupport"),
        tests("MotionTests", "Model Motion Sensors SensorTestSupport", exclude: ["Attitude/reference.py"]),
        tests("SensorsTests", "Model Motion Sensors TestSupport SensorTestSupport"),
        tests("DeviceTests", "Model Store Motion Sensors Device TestSupport SensorTestSupport"),
        tests("LockstepSystemTests", "Model System TestSupport"),
        tests(
            "AgentTests",
            "Model Wire MQTT SQLite Motion Sensors Agent TestSupport SensorTestSupport Logging"),
        tests("RulesTests", "Model Motion Sensors Rules CommandLine SensorTestSupport"),
        tests(
            "CollectorTests",
            "Model Wire MQTT Store Sensors Rules Collector CommandLine TestSupport SensorTestSupport "
                + "Logging"),
        tests(
            "GatewayTests",
            "CSodium Model Wire MQTT SQLite Store Transfer Export Agent Gateway TestSupport Logging ServiceLifecycle",
            exclude: ["Bridge/home_assistant.py"]),
        tests("LiveTests", "Model Wire MQTT Live TestSupport Logging"),
        // The HTTP server: its parts, and the built program with a real broker and a real store.
        tests(
            "ServeTests",
            "Model Wire MQTT Store Transfer ClickHouse Export Live HTTP Serve TestSupport HTTPTypes HummingbirdCore "
                + "Logging NIOCore NIOEmbedded NIOHTTPTypes lockstep lockstep-agent lockstep-collector lockstep-serve",
            exclude: ["System/schemathesis.toml", "System/schemathesis-known.toml"]),
        tests("CommandLineTests", "Model MQTT CommandLine TestSupport ArgumentParser Logging"),
        // The examples and tables in docs/.
        tests("DocumentationTests", "Model Wire MQTT Store Motion Sensors Device Agent Collector Live Logging"),
        // Command-line tests: exact output and exit codes.
        tests(
            "CommandTests",
            "Model Wire MQTT SQLite Store ClickHouse Export System Agent Live CommandLine TestSupport lockstep "
                + "lockstep-agent lockstep-collector lockstep-gateway lockstep-serve",
            exclude: ["Export/read_exports.py"]),
        // System tests: the built programs with a real broker.
        tests(
            "SystemTests",
            "Model Wire MQTT SQLite Store Sensors Collector Live TestSupport Logging lockstep lockstep-agent "
                + "lockstep-collector lockstep-gateway lockstep-serve lockstep-cluster",
            exclude: ["Gateway/sparkplug_peer.py", "LSL/lsl_peer.py", "Rules/smtp_server.py"]),
        // The page, in a browser, with the built programs.
        tests(
            "PageTests", "TestSupport lockstep lockstep-agent lockstep-collector lockstep-serve lockstep-gateway",
            exclude: [
                "accessibility.js", "browser.py", "features.py", "join_gateway.py", "join_scenarios.py",
                "join_server.py", "phone.py",
                "run.py", "run_join.py", "runner.py", "scenarios.py", "screenshots.py", "sessions.py", "slow_link.py",
                "system.py", "tiles.py", "truth.py", "unit",
            ]),
        // Randomly damaged input for every decoder.
        tests("FuzzTests", "Model Wire Sensors Transfer Gateway CommandLine SensorTestSupport"),
        // Runs a cluster on this machine and lets its programs fail, for deploy/cluster.
        program("lockstep-cluster", "Model Sensors System ArgumentParser", path: "Tests/Cluster"),
        // Processes are killed at random, and no sample may be lost.
        tests("ChaosTests", "Model SQLite Store Sensors Agent TestSupport lockstep lockstep-agent lockstep-collector"),
    ],
    swiftLanguageModes: [.v6]
)

/// Removes targets, and the products that are named after them.
@MainActor func leaveOut(_ isExcluded: (Target) -> Bool) {
    let excluded = Set(package.targets.filter(isExcluded).map(\.name))
    package.targets.removeAll { excluded.contains($0.name) }
    package.products.removeAll { excluded.contains($0.name) }
}

// Set by deploy/check for sanitizer builds, which run the unit tests only. Leaving out the programs, the tests that run
// them, the HTTP server and the slow algorithm tests halves the build.
if Context.environment["LOCKSTEP_UNIT_TESTS_ONLY"] != nil {
    let excluded = [
        "HTTP", "Serve", "ServeTests", "MotionTests", "SystemTests", "CommandTests", "ChaosTests", "PageTests",
    ]
    .map(target)
    leaveOut { $0.type == .executable || excluded.contains($0.name) }
}

// For another architecture, see deploy/test-arm64: only the tests without I/O.
if Context.environment["LOCKSTEP_PURE_TESTS_ONLY"] != nil {
    let kept = [
        "CLinux", "Model", "Wire", "Motion", "Sensors", "SensorTestSupport", "ModelTests", "WireTests", "MotionTests",
    ].map(target)
    leaveOut { !kept.contains($0.name) }
    package.dependencies = []
}
