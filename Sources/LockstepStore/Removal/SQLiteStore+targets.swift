import LockstepModel
import LockstepSQLite

// What leaves together.

extension SQLiteStore {
    /// Returns the rows of a series, and what is derived from them: they leave with them.
    /// - Parameter runs: the keys of the refined rows that leave with them.
    func targets(
        of series: Removal.Series, _ times: Range<Int64>, refined runs: [(kind: RefinedKind, run: Int64)]
    ) -> [Removal.Target] {
        let stream = tables[series.table].stream
        let own = "device_id = \(series.device)"
        let derived = runs.map {
            Removal.Target(table: $0.kind.rowTable, key: "run_id = \($0.run)", range: times, series: series)
        }
        guard tables[series.table].id != nil else { return derived }
        return [
            Removal.Target(table: stream.rowTable, key: own, range: times, series: series, isSamples: true),
            Removal.Target(
                table: "conflicts", key: "\(own) AND stream = \(literalOfSQLite(stream.name))", range: times,
                series: series),
        ] + derived
    }

    /// Returns the summaries of minutes of a series, whose table must exist.
    func summaries(of series: Removal.Series, _ times: Range<Int64>) -> Removal.Target {
        Removal.Target(
            table: tables[series.table].stream.minutesTable, key: "device_id = \(series.device)", range: times,
            series: series)
    }

    /// Returns what `lockstep refine` has computed, by device.
    func refinedRuns() throws(SQLiteError) -> [Int64: [(kind: RefinedKind, run: Int64)]] {
        guard try StoreSchema.storedSQL(of: "refined_runs", in: database) != nil else { return [:] }
        let select = try database.prepare("SELECT device_id, kind, run_id FROM refined_runs")
        var runs: [Int64: [(kind: RefinedKind, run: Int64)]] = [:]
        while try select.step() {
            guard let kind = select.text(at: 1).flatMap({ RefinedKind(rawValue: $0) }) else { continue }
            runs[select.int64(at: 0), default: []].append((kind, select.int64(at: 2)))
        }
        return runs
    }

    /// Returns what a deletion removes.
    /// - Parameter runs: what was refined of its device.
    func targets(
        of row: DeletionTable.Row, refined runs: [(kind: RefinedKind, run: Int64)]
    ) throws -> [Removal.Target] {
        let (deletion, device) = (row.stored.deletion, row.device)
        var targets: [Removal.Target] = []
        for index in tables.indices where deletion.covers(tables[index].stream) {
            // Those of the minutes that it touches, also where no samples are left.
            if try StoreSchema.storedSQL(of: tables[index].stream.minutesTable, in: database) != nil {
                targets.append(
                    summaries(of: .init(table: index, device: device), Minute.around(deletion.times)))
            }
            targets += self.targets(
                of: .init(table: index, device: device), deletion.times,
                refined: runs.filter { $0.kind.sources.contains(tables[index].stream.name) })
        }
        guard deletion.isWhole else { return targets }
        func add(_ table: String, _ keys: String, _ column: String? = nil, where condition: String? = nil) throws {
            let select = try database.prepare(keys)
            while try select.step() {
                let range = column == nil ? deletion.times : 0..<Int64.max
                targets.append(
                    .init(
                        table: table, key: select.text(at: 0) ?? "1", column: column ?? "t", range: range,
                        condition: condition))
            }
        }
        let own = "device_id = \(device)"
        try add(
            "_clocks",
            """
            SELECT DISTINCT '\(own) AND collector = ' || quote(collector) || ' AND epoch = ' || quote(epoch)
            FROM _clocks WHERE \(own)
            """)
        let events =
            "event_id IN (SELECT event_id FROM events WHERE \(own) AND t >= \(deletion.times.lowerBound) AND t < \(deletion.times.upperBound))"
        try add("deliveries", "SELECT '1'", "delivery_id", where: events)
        try add(
            "events", "SELECT DISTINCT 'rule = ' || quote(rule) || ' AND \(own)' FROM events WHERE \(own)")
        return targets
    }
}

extension RefinedKind {
    /// The names of the streams from which it is computed: a deletion of one of them deletes it.
    package var sources: [String] {
        switch self {
        case .attitude: [SensorStream.accelerometer, .gyroscope, .magnetometer].map(\.name)
        case .steps: [SensorStream.accelerometer.name, SensorStream.steps.name]
        case .location: [SensorStream.location.name]
        }
    }

    /// The name of the stream that it stands for: it leaves by the rule of this stream.
    package var standsFor: String {
        switch self {
        case .attitude: "motion/device"
        case .steps: "steps"
        case .location: "location"
        }
    }
}
