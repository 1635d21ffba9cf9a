import LockstepModel
import LockstepSQLite

// Restoring the logs when a store is opened.

extension SQLiteStore {
    /// Restores the indexes of logs that were not merged when the store was closed.
    func recoverLogs() throws {
        runs = try RunSet(in: database)
        if !runs.isEmpty { runsStart = .now }
        var recoveries = try readLogs()
        func hasUnknownStreams() throws -> Bool {
            let known = Set(try logStreams().keys).union([ClockLog.stream])
            return recoveries.contains { !$0.recovery.unknownStreams.isEmpty }
                || runs.parts.contains { !known.contains($0.stream) }
        }
        if try hasUnknownStreams() {
            try addUndeclaredStreams()
            recoveries = try readLogs()
        }
        guard try !hasUnknownStreams() else {
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
        // A merge counts the rows that the active log receives from its start.
        activeLog = merging?.other ?? isFilled.first ?? .first
        if try database.integer("SELECT first_device FROM logs WHERE log = \(RowSource.runsNumber)") > 0 {
            try startRunMerge()
            // Rows of the log cannot be moved to a run meanwhile.
            if merging != nil { try finishMerge() }
        }
        if let merging { try startMerge(of: merging) }
        // The rows of a stream that has outgrown its shape are written directly, without a look at the logs.
        let outgrown = tables.indices.filter { tables[$0].logTarget == nil }
        let streams = try logStreams()
        if LogNumber.allCases.contains(where: { logs[$0].index.contains(anyOf: outgrown) })
            || runs.parts.contains(where: { streams[$0.stream].map(outgrown.contains) ?? false })
        {
            try mergeLogs()
        }
    }

    /// Returns the indexes of the tables of streams, by the number of the stream in the logs.
    private func logStreams() throws -> [Int64: Int] {
        var streams: [Int64: Int] = [:]
        for (index, table) in tables.enumerated() {
            if let stream = try LogSchema.find(table.stream, in: database) { streams[stream.id] = index }
        }
        return streams
    }

    private func readLogs() throws -> [(number: LogNumber, recovery: LogRecovery)] {
        let streams = try logStreams()
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
