import LockstepModel
import LockstepSQLite

// Restoring the logs when a store is opened.

extension SQLiteStore {
    /// Restores the indexes of logs that were not merged when the store was closed.
    func recoverLogs() throws {
        var recoveries = try readLogs()
        if recoveries.contains(where: { !$0.recovery.unknownStreams.isEmpty }) {
            try addUndeclaredStreams()
            recoveries = try readLogs()
        }
        guard recoveries.allSatisfy({ $0.recovery.unknownStreams.isEmpty }) else {
            throw StoreError(
                .streams,
                "\(path) contains samples of a stream that this program does not support, and that are not merged yet: "
                    + "use the version of Lockstep that wrote them")
        }
        var merging: LogNumber?
        for (number, recovery) in recoveries {
            logs[number].restore(recovery.index, lastTurn: recovery.lastTurn)
            for entry in recovery.batches.values { try received.restore(entry.numbers, of: entry.scope) }
            if recovery.isMerging { merging = number }
        }
        let isFilled = LogNumber.allCases.filter { !logs[$0].isEmpty }
        if merging == nil, isFilled.count == 2 { merging = .first }
        if let merging {
            activeLog = merging.other
            try startMerge(of: merging)
        } else {
            activeLog = isFilled.first ?? .first
        }
        // The rows of a stream that has outgrown its shape are written directly, without a look at the logs.
        let outgrown = tables.indices.filter { tables[$0].logTarget == nil }
        if LogNumber.allCases.contains(where: { logs[$0].index.contains(anyOf: outgrown) }) { try mergeLogs() }
    }

    private func readLogs() throws -> [(number: LogNumber, recovery: LogRecovery)] {
        var streams: [Int64: Int] = [:]
        for (index, table) in tables.enumerated() {
            if let stream = try LogSchema.find(table.stream, in: database) { streams[stream.id] = index }
        }
        return try LogNumber.allCases.map { ($0, try LogRecovery($0, tables: streams, &scopes, in: database)) }
    }

    /// Adds the tables of streams that the store knows but the catalog of the collector does not: the logs may contain
    /// rows of them.
    private func addUndeclaredStreams() throws {
        let known = Set(tables.map(\.stream))
        for stream in try StreamTable.catalog(in: database).streams where !known.contains(stream) {
            if let table = try SampleTable(stream, in: database) { tables.append(table) }
        }
    }
}
