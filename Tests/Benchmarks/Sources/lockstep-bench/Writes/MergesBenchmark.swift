import LockstepModel
import LockstepStore
import LockstepWire

/// The bytes that a store writes for a byte of rows, including the merges in that time, without MQTT.
///
/// The samples are those of the benchmark `writes`. Each commit has the messages of a tenth of a second, and maintenance
/// ends before the next commit.
struct MergesBenchmark {
    /// Durability of the commits: one or two modes.
    let syncs: [String]
    let options: WritesOptions
    /// The time that the samples take, in s.
    let seconds: Int

    /// The commits in a second of samples, about as many as the collector makes.
    private static let commitsPerSecond = 10

    /// A measurement for each fleet and mode.
    var parts: [() throws -> [Comparison]] {
        syncs.flatMap { sync in options.fleets.map { fleet in { try measureAll(fleet, sync: sync) } } }
    }

    private func measureAll(_ fleet: WritesFleet, sync: String) throws -> [Comparison] {
        func metric(_ figure: String, _ unit: String, digits: Int) -> Metric {
            Metric(name: "\(fleet) devices, \(seconds) s, --sync \(sync), \(figure)", unit: unit, digits: digits)
        }
        return try compare(
            "merges",
            [
                metric("written", "bytes/byte", digits: 2), metric("on disk", "bytes/byte", digits: 2),
                metric("not merged", "% of rows", digits: 1),
            ],
            // The figures hardly depend on other load.
            rounds: 1, [Contender(name: "store") { try measure(fleet, sync: sync) }])
    }

    private func measure(_ fleet: WritesFleet, sync: String) throws -> [Double] {
        try withFolder { folder in
            let path = folder + "/store.db"
            let begin = Timestamp(microseconds: 1_790_000_000_000_000)
            try fleet.fill(path, rows: options.prefill, begin: begin)
            var storeOptions = SQLiteStore.Options()
            storeOptions.survivesPowerLoss = sync == "full"
            try Launched.run("sync", ["--file-system", folder])
            let before = try WrittenBytes()
            // The files are written until the store closes.
            do {
                let store = try SQLiteStore(path: path, options: storeOptions)
                try write(fleet, to: store, begin: begin)
                store.close()
            }
            let rows = fleet.devices * fleet.rounds(seconds: seconds) * fleet.samples
            let ratios = try WrittenBytes().ratios(
                since: before, to: Int64(rows * Self.rowSize(devices: fleet.devices)))
            return try ratios + [100 * Double(Self.unmergedRows(path)) / Double(rows)]
        }
    }

    /// The size of most rows in the table, see ``WritesRun``.
    private static func rowSize(devices: Int) -> Int { devices < 256 ? 42 : devices < 65_536 ? 43 : 44 }

    /// Returns the number of rows that wait.
    private static func unmergedRows(_ path: String) throws -> Int {
        let sql = "SELECT (SELECT count(*) FROM accelerometer) - (SELECT count(*) FROM _accelerometer)"
        let text = try Launched.run("sqlite3", ["-readonly", path, sql])
        guard let rows = Int(text.filter { !$0.isWhitespace }) else {
            throw Failure("cannot count the rows of \(path)")
        }
        return rows
    }

    private func write(_ fleet: WritesFleet, to store: SQLiteStore, begin: Timestamp) throws {
        var group = IngestGroup()
        var end = Int64(0)
        func commit() throws {
            guard !group.isEmpty else { return }
            try store.write(group)
            group = IngestGroup()
            while store.needsMaintenance { store.performMaintenance() }
        }
        for round in 0..<fleet.rounds(seconds: seconds) {
            for device in 0..<fleet.devices {
                let due = fleet.due(device: device, round: round)
                if due >= end {
                    try commit()
                    let interval = Int64(1_000_000 / Self.commitsPerSecond)
                    end = (due / interval + 1) * interval
                }
                let batch = try fleet.batch(
                    device: device, seq: Int64(round) + 2, first: round * fleet.samples, count: fleet.samples,
                    end: begin + due)
                group.append(
                    ReceivedBatch(device: try fleet.address(device), batch: batch, receivedAt: begin + due))
            }
        }
        try commit()
    }
}
