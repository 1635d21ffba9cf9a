import Foundation
import LockstepModel

/// Collectors with a store in ClickHouse: their speed, their cost, and what replicas cost.
struct ClusterBenchmarks {
    /// Folder of the built programs.
    let programs: String
    let rounds: Int
    /// The length of a round, as a fraction of its usual length.
    let length: Double

    private static let rowMetrics = [
        Metric(name: "rows", unit: "rows/s"), Metric(name: "CPU of ClickHouse", unit: "µs/row", digits: 3),
        Metric(name: "CPU of the side", unit: "µs/row", digits: 3),
    ]
    /// The number of samples of a message.
    private static let size = 100

    private func load(messages: Int, groups: [String] = ["bench"], in folder: String) throws -> IngestLoad {
        try IngestLoad(
            devices: 100, messages: Int(Double(messages) * length), size: Self.size, groups: groups, in: folder,
            named: "load")
    }

    /// Compares batches of 100 samples from 100 devices with a subscriber in C that only counts the same messages, and with
    /// a `clickhouse-client` that inserts the same rows into the same tables.
    func ingest() throws -> [Comparison] {
        try withFolder { folder in
            let load = try load(messages: 40_000, in: folder)
            let files = try RowBinaryFiles(load, in: folder)
            return try compare(
                "cluster-ingest", Self.rowMetrics + [Metric(name: "disk after merges", unit: "bytes/row", digits: 1)],
                rounds: rounds,
                [
                    Contender(name: "lockstep-collector, MQTT, JSON") { try store(load, isMerged: true) },
                    Contender(name: "C subscriber, only counts") { try count(load) + [.nan] },
                    Contender(name: "clickhouse-client, RowBinary") { try insert(files, rows: load.samples) },
                ])
        }
    }

    /// Compares two collectors that divide the groups of a load with one that has all of them.
    func collectors() throws -> [Comparison] {
        try withFolder { folder in
            let load = try load(messages: 40_000, groups: ["east", "west"], in: folder)
            return try compare(
                "cluster-collectors", Self.rowMetrics, rounds: rounds,
                [
                    Contender(name: "two collectors, a group each") { try store(load, [["east"], ["west"]]) },
                    Contender(name: "one collector, both groups") { try store(load, [["east", "west"]]) },
                ])
        }
    }

    /// Compares 10,000 samples a second from different numbers of devices.
    func devices() throws -> [Comparison] {
        try compare(
            "cluster-devices",
            [
                Metric(name: "CPU of the collector", unit: "µs/sample", digits: 2),
                Metric(name: "CPU of ClickHouse", unit: "µs/sample", digits: 2),
                Metric(name: "memory of the collector", unit: "MB", digits: 0),
            ], rounds: rounds,
            ["100000", "10000", "1000", "100"].compactMap { WritesFleet($0) }.map { fleet in
                Contender(name: "\(fleet) devices") {
                    try withFolder {
                        try DevicesRun(programs: programs, folder: $0).run(fleet, seconds: Int(30 * length))
                    }
                }
            })
    }

    /// Compares replicas of which a majority must hold each row with one server: the speed of a queue of messages, and the
    /// time to the acknowledgement of live messages with 10,000 samples a second.
    func quorum() throws -> [Comparison] {
        try withFolder { folder in
            let load = try load(messages: 20_000, in: folder)
            return try compare(
                "cluster-quorum",
                Self.rowMetrics + [
                    Metric(name: "time to the acknowledgement, median", unit: "ms"),
                    Metric(name: "time to the acknowledgement, 99th percentile", unit: "ms"),
                ], rounds: rounds,
                [("three replicas, two hold each row", 3), ("two replicas, both hold each row", 2), ("one server", 1)]
                    .map { name, replicas in
                        Contender(name: name) {
                            try store(load, replicas: replicas) + acknowledgementTimes(replicas: replicas)
                        }
                    })
        }
    }

    /// Measures collectors that store the messages queued for them.
    /// - Parameters:
    ///   - groups: The groups of each collector.
    ///   - isMerged: Whether to return the bytes of a merged row, too.
    private func store(
        _ load: IngestLoad, _ groups: [[String]] = [["bench"]], replicas: Int = 1, isMerged: Bool = false
    ) throws -> [Double] {
        try withSystem(replicas: replicas) { broker, database in
            func start(_ index: Int) throws -> Launched {
                try Launched(
                    programs + "/lockstep-collector",
                    ["--broker", broker.url, "--id", "bench-\(index)", "--log-level", "error"]
                        + groups[index].flatMap { ["--group", $0] } + database.options)
            }
            // The first start creates the tables, and the session for which the broker then queues the load.
            for index in groups.indices {
                let collector = try start(index)
                defer { collector.stop() }
                try broker.wait(for: "lockstep/+/$collector/bench-\(index)")
            }
            try Launched.run(Launched.beside("publish-load"), ["\(broker.port)", load.messageFile])
            let results = try measure(database, rows: load.samples) { try groups.indices.map(start) }
            return try results + (isMerged ? [rowSize(in: database, rows: load.samples)] : [])
        }
    }

    /// Measures a subscriber that only counts the messages queued for it.
    private func count(_ load: IngestLoad) throws -> [Double] {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            try broker.keepMessages(for: "other-side")
            try Launched.run(Launched.beside("publish-load"), ["\(broker.port)", load.messageFile])
            let effort = try Launched.time(
                Launched.beside("count-messages"), ["\(broker.port)", "other-side", "\(load.messages)"])
            return [effort.rate * Double(Self.size), .nan, effort.cpuEach / Double(Self.size)]
        }
    }

    /// Measures a `clickhouse-client` that inserts files.
    private func insert(_ files: RowBinaryFiles, rows: Int) throws -> [Double] {
        try withSystem { broker, database in
            // A collector creates the tables.
            let collector = try Launched(
                programs + "/lockstep-collector",
                ["--broker", broker.url, "--id", "bench-0", "--log-level", "error"] + database.options)
            defer { collector.stop() }
            try broker.wait(for: "lockstep/+/$collector/bench-0")
            // The process stays, so that its CPU time includes that of the clients.
            let script = files.script(for: database.servers[0]) + "; exec sleep 600"
            let results = try measure(database, rows: rows) { [try Launched("/bin/sh", ["-c", script])] }
            return try results + [rowSize(in: database, rows: rows)]
        }
    }

    /// Merges the samples and returns the bytes of a row on the disk.
    private func rowSize(in database: BenchDatabase, rows: Int) throws -> Double {
        for stream in IngestLoad.streams {
            try database.servers[0].execute("OPTIMIZE TABLE lockstep.received_\(stream.table) FINAL")
        }
        return Double(try database.servers[0].sampleFigure("bytes_on_disk")) / Double(rows)
    }

    /// Starts programs and measures until the database has all rows.
    private func measure(
        _ database: BenchDatabase, rows: Int, _ start: () throws -> [Launched]
    ) throws -> [Double] {
        let cpu = try database.cpuTime()
        let clock = ContinuousClock()
        let begin = clock.now
        let processes = try start()
        defer { for process in processes { process.stop() } }
        try waitUntil("all rows are stored", seconds: 600, every: 40) { ((try? database.storedRows()) ?? 0) >= rows }
        let seconds = (clock.now - begin) / .seconds(1)
        let count = Double(rows)
        return [
            count / seconds, (try database.cpuTime() - cpu) / count * 1e6,
            try processes.reduce(0) { $0 + (try $1.cpuTimeWithChildren()) } / count * 1e6,
        ]
    }

    /// Returns the median and the 99th percentile of the time from the completion of a batch to its acknowledgement, in ms.
    private func acknowledgementTimes(replicas: Int) throws -> [Double] {
        try withSystem(replicas: replicas) { broker, database in
            let collector = try Launched(
                programs + "/lockstep-collector",
                ["--broker", broker.url, "--id", "bench", "--log-level", "error"] + database.options)
            defer { collector.stop() }
            try broker.wait(for: "lockstep/+/$collector/bench")
            let text = try Launched.run(
                programs + "/lockstep",
                [
                    "simulate", "--broker", broker.url, "--json", "--devices", "1000", "--connections", "10",
                    "--sample-rate", "10", "--seconds", "\(max(5, Int(20 * length)))",
                ])
            let report = try JSONDecoder().decode(FleetRun.Report.self, from: Data(text.utf8))
            guard report.complete else { throw Failure("lockstep simulate reports missing samples") }
            return [report.lag.live.p50 ?? .nan, report.lag.live.p99 ?? .nan]
        }
    }

    private func withSystem<Result>(
        replicas: Int = 1, _ body: (BenchBroker, BenchDatabase) throws -> Result
    ) throws -> Result {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            let database = try BenchDatabase(replicas: replicas, in: folder)
            defer { database.stop() }
            return try body(broker, database)
        }
    }
}
