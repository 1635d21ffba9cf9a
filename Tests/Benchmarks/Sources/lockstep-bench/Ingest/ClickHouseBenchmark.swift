import Foundation
import LockstepModel

/// The speed of a collector with a store in ClickHouse.
struct ClickHouseBenchmark {
    /// Folder of the built programs.
    let programs: String
    let rounds: Int
    /// The length of a round, as a fraction of its usual length.
    let length: Double

    /// Compares batches of 100 samples from 100 devices with a `clickhouse-client` that inserts the same rows, one
    /// insert for each table.
    func run() throws -> [Comparison] {
        try withFolder { folder in
            let load = try IngestLoad(
                devices: 100, messages: Int(15_000 * length), size: 100, in: folder, named: "load")
            let files = try RowBinaryFiles(load, in: folder)
            return try compare(
                "ingest-clickhouse",
                [
                    Metric(name: "rows", unit: "rows/s"), Metric(name: "server", unit: "µs CPU/row", digits: 3),
                    Metric(name: "CPU", unit: "µs/row", digits: 3),
                ], rounds: rounds,
                [
                    Contender(name: "lockstep-collector, MQTT, JSON") { try ingest(load) },
                    Contender(name: "clickhouse-client, RowBinary") { try insert(files, rows: load.samples) },
                ])
        }
    }

    private func ingest(_ load: IngestLoad) throws -> [Double] {
        try withServer { server, folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            try broker.keepMessages(for: "lockstep-collector-bench")
            try Launched.run(Launched.beside("publish-load"), ["\(broker.port)", load.messageFile])
            return try measure(server, rows: load.samples) {
                try Launched(
                    programs + "/lockstep-collector",
                    [
                        "--broker", broker.url, "--store", server.url, "--sync", "normal", "--id", "bench",
                        "--log-level", "error",
                    ])
            }
        }
    }

    private func insert(_ files: RowBinaryFiles, rows: Int) throws -> [Double] {
        try withServer { server, _ in
            try server.execute("CREATE DATABASE lockstep")
            for table in files.tables { try server.execute(RowBinaryFiles.createTable(table)) }
            let commands = zip(files.tables, files.paths).map { table, path in
                "clickhouse-client --port \(server.clientPort) --query "
                    + "'INSERT INTO lockstep.\(table) FORMAT RowBinary' <'\(path)'"
            }
            // The process stays, so that its CPU time includes that of the clients.
            let script = commands.joined(separator: " && ") + "; exec sleep 600"
            return try measure(server, rows: rows) { try Launched("/bin/sh", ["-c", script]) }
        }
    }

    /// Starts a program and measures until the server has stored all rows.
    private func measure(_ server: BenchClickHouse, rows: Int, _ start: () throws -> Launched) throws -> [Double] {
        let cpu = try server.cpuTime()
        let clock = ContinuousClock()
        let begin = clock.now
        let process = try start()
        defer { process.stop() }
        try waitUntil("all rows are stored", seconds: 600) { (try? server.storedRows()) ?? 0 >= rows }
        let seconds = (clock.now - begin) / .seconds(1)
        let count = Double(rows)
        return [
            count / seconds, (try server.cpuTime() - cpu) / count * 1e6,
            try process.cpuTimeWithChildren() / count * 1e6,
        ]
    }

    private func withServer<Result>(_ body: (BenchClickHouse, String) throws -> Result) throws -> Result {
        try withFolder { folder in
            let server = try BenchClickHouse(in: folder)
            defer { server.stop() }
            return try body(server, folder)
        }
    }
}

/// The rows of a load in the format RowBinary, one file for each table.
struct RowBinaryFiles {
    let tables = IngestLoad.streams.map { "received_" + $0.table }
    let paths: [String]

    /// Converts the rows of a load.
    init(_ load: IngestLoad, in folder: String) throws {
        let rows = try Data(contentsOf: URL(fileURLWithPath: load.rowFile), options: .alwaysMapped)
        paths = tables.map { "\(folder)/\($0).rowbinary" }
        var files = tables.map { _ in Data() }
        // Device and stream (4 bytes each), time and three values (8 bytes each).
        let size = 40
        for start in stride(from: rows.startIndex, to: rows.endIndex, by: size) {
            let row = rows[start..<start + size]
            let stream = Int(row.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 4, as: Int32.self) })
            let device = Int64(row.withUnsafeBytes { $0.loadUnaligned(as: Int32.self) })
            // Devices are hashes, and rank and values_hash have no order.
            let mixed = UInt64(bitPattern: device) &* 0x9E37_79B9_7F4A_7C15
            withUnsafeBytes(of: Int64(mixed >> 1)) { files[stream].append(contentsOf: $0) }
            files[stream].append(row.dropFirst(8))
            withUnsafeBytes(of: UInt64.max - 1_760_000_000_000_000) { files[stream].append(contentsOf: $0) }
            let hash = UInt64(files[stream].count) &* 0x9E37_79B9_7F4A_7C15
            withUnsafeBytes(of: hash) { files[stream].append(contentsOf: $0) }
        }
        for (path, data) in zip(paths, files) { try data.write(to: URL(fileURLWithPath: path)) }
    }

    /// The statement for a table like that of the collector.
    static func createTable(_ name: String) -> String {
        """
        CREATE TABLE lockstep.\(name) (
            device_id Int64, t Int64, x Float64, y Float64, z Float64, rank UInt64, values_hash UInt64
        ) ENGINE = ReplacingMergeTree(rank) PARTITION BY intDiv(t, 2629746000000)
        ORDER BY (device_id, t, values_hash)
        """
    }
}
