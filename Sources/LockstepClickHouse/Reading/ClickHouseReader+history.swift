public import LockstepModel
public import LockstepStore

extension ClickHouseReader {
    public func contains(
        _ device: DeviceAddress, cancellation: QueryCancellation?
    ) throws(StoreError) -> Bool {
        defer { client.cancellation = nil }
        client.cancellation = cancellation
        return try record(of: device) != nil
    }

    @discardableResult
    public func run(
        _ query: SampleQuery, cancellation: QueryCancellation?, each: (Timestamp, [Double]) throws -> Void
    ) throws -> Bool {
        defer { client.cancellation = nil }
        client.cancellation = cancellation
        guard try hasTable(of: query.stream) else { return false }
        var remainingRows = query.limit ?? .max
        var hasMore = false
        try rows(query.detail, of: query.stream, query.device, query.times) { time, values in
            guard remainingRows > 0 else {
                hasMore = true
                return false
            }
            remainingRows -= 1
            try each(Timestamp(microseconds: time), values)
            return true
        }
        return hasMore
    }

    public func transitions(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, limit: Int, cancellation: QueryCancellation?
    ) throws(StoreError) -> [LifecycleTransition] {
        defer { client.cancellation = nil }
        client.cancellation = cancellation
        let times = timeRange(from, to)
        let rows = try client.rows(
            """
            SELECT seq, state, since, previous, reason FROM states
            WHERE device_id = \(DeviceRecord.id(of: device))
                AND since >= \(times.lowerBound) AND since < \(times.upperBound)
            ORDER BY seq DESC LIMIT \(max(0, limit))
            """)
        var transitions: [LifecycleTransition] = []
        for row in rows.reversed() {
            guard row.count == 5, let seq = row[0].flatMap({ Int64($0) }),
                let state = row[1].flatMap({ LifecycleState(rawValue: $0) }), let since = row[2].flatMap({ Int64($0) })
            else { throw StoreError(.corrupt, "a row of the view states is damaged: \(row.compactMap(\.self))") }
            transitions.append(
                LifecycleTransition(
                    from: row[3].flatMap { LifecycleState(rawValue: $0) }, to: state,
                    since: Timestamp(microseconds: since), reason: row[4] ?? "", seq: seq))
        }
        return transitions
    }

    public func walk(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, cancellation: QueryCancellation?
    ) throws(StoreError) -> WalkSummary {
        defer { client.cancellation = nil }
        client.cancellation = cancellation
        var walk = WalkSummary()
        let times = timeRange(from, to)
        guard !times.isEmpty, try hasTable(of: .steps) else { return walk }
        let samples = SampleSelect(stream: .steps)
            .samples(of: DeviceRecord.id(of: device), times.lowerBound...times.upperBound - 1)
        let sums = try client.rows(
            """
            SELECT sum(steps), sum(distance), sum(if(distance > 0, t - start, NULL)),
                sum(if(distance > 0, distance, NULL)) FROM (\(samples))
            """)
        if let row = sums.first {
            walk.steps = row[0].flatMap { Int64($0) }
            walk.distance = row[1].flatMap { Double($0) }
            if let time = row[2].flatMap({ Double($0) }), let distance = row[3].flatMap({ Double($0) }) {
                walk.averagePace = time / 1e6 / distance
            }
        }
        let newest = try client.rows("SELECT t, pace, cadence FROM (\(samples)) ORDER BY t DESC LIMIT 1")
        if let row = newest.first {
            walk.newest = row[0].flatMap { Int64($0) }.map(Timestamp.init(microseconds:))
            walk.pace = row[1].flatMap { Double($0) }
            walk.cadence = row[2].flatMap { Double($0) }
        }
        return walk
    }

    /// Returns the record of a device, or nil if it is not stored.
    func record(of device: DeviceAddress) throws(StoreError) -> DeviceRecord? {
        try DeviceRecord.readAll(client, id: DeviceRecord.id(of: device)).first
    }
}
