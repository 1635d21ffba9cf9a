import LockstepModel
import LockstepSQLite

// Restoring what waits when a store is opened: after a crash, or if it was too much to be merged at the last stop.

extension SQLiteStore {
    /// Restores the index of `_waiting`, continues a merge, and lets each view show what it has to.
    func recover() throws {
        try addUndeclaredStreams()
        var indexes: [Int64: Int] = [ClockTable.streamID: ClockTable.table]
        for (index, table) in tables.enumerated() { if let id = table.id { indexes[id] = index } }
        let addresses = devices.addresses
        let select = try database.prepare(
            """
            SELECT n, device_id, stream_id, epoch, batches, received, first_t, last_t, count, length(rows) FROM _waiting
            WHERE \(isWaiting) ORDER BY n
            """)
        var batches: [Int: (scope: Scope, numbers: SequenceSet)] = [:]
        while try select.step() {
            let device = select.int64(at: 1)
            let size = select.optionalInt64(at: 9).map(Int.init)
            var entry = WaitingIndex.Entry(
                n: select.int64(at: 0), size: WaitingTable.overhead + (size ?? 0), received: select.optionalInt64(at: 5)
            )
            entry.samples = Int(select.int64(at: 8))
            entry.hasRows = size != nil
            if let stream = select.optionalInt64(at: 2) {
                guard let index = indexes[stream] else {
                    throw StoreError(
                        .streams,
                        "\(path) contains samples of a stream that this program does not support, and that are not merged "
                            + "yet: use the version of Lockstep that wrote them")
                }
                guard index == ClockTable.table || tables[index].knowsAllColumns else {
                    throw StoreError(
                        .streams,
                        "\(path) contains samples of the stream '\(tables[index].stream.name)' with a column that this "
                            + "program does not know, and that are not merged yet: use the version of Lockstep that wrote "
                            + "them")
                }
                entry.table = index
                if let first = select.optionalInt64(at: 6), let last = select.optionalInt64(at: 7) {
                    entry.times = first...max(first, last)
                }
            }
            if let address = addresses[device], let epoch = select.text(at: 3), !select.isNull(at: 4) {
                let scope = scopes.scope(of: address, device: device, epoch: Epoch(unchecked: epoch))
                entry.scope = scope.number
                batches[scope.number, default: (scope, SequenceSet())].numbers
                    .formUnion(WaitingTable.batches(select, at: 4))
            }
            waiting.restore(entry, of: device)
        }
        waiting.commit()
        for entry in batches.values { try received.restore(entry.numbers, of: entry.scope) }
        if try !waiting.frozen.isEmpty || database.integer("SELECT device_done FROM _merge") > 0 {
            merge = try WaitingMerge(continuing: waiting, in: database)
        }
        try database.transaction {
            for index in tables.indices {
                let isEmpty = [waiting.open, waiting.frozen].allSatisfy { $0.rowCounts[index, default: 0] == 0 }
                try tables[index].show(waiting: !isEmpty, in: database)
            }
        }
        for index in tables.indices { tables[index].commit() }
    }

    /// Adds the tables of streams that the store knows but the catalog of the collector does not: samples of them may wait.
    private func addUndeclaredStreams() throws {
        let known = Set(tables.map(\.stream.name))
        for stream in try StreamDefinition.catalog(SQLiteSource(database)).streams where !known.contains(stream.name) {
            tables.append(try SampleTable(stream, in: database))
            observed.append(false)
        }
    }
}
