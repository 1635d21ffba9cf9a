import LockstepModel
import LockstepStore

/// The table `streams`: the declared streams of a store. It allows readers to work without the settings of the
/// collector.
struct StreamDefinitions {
    let client: ClickHouseClient

    /// Returns the built-in streams and the declared streams of the store.
    /// - Throws: ``/LockstepStore/StoreError`` if a definition is invalid, for example after manual edits.
    func catalog() throws(StoreError) -> StreamCatalog {
        let declared = try declared().map(\.stream)
        do { return try StreamCatalog(declared: declared) } catch {
            throw StoreError(.streams, "the table 'streams' is invalid: \(error)")
        }
    }

    /// Adds or updates the definitions of `streams`.
    /// - Throws: ``/LockstepStore/StoreError`` if a stream differs from the stored one.
    func register(_ streams: [SensorStream]) throws(StoreError) {
        guard !streams.isEmpty else { return }
        let stored = try declared()
        var rows = RowBinary()
        for stream in streams {
            let definition = StreamDefinition(stream).json
            if let known = stored.first(where: { $0.stream.name == stream.name }) {
                if let difference = stream.difference(from: known.stream) {
                    throw StoreError(
                        .streams,
                        "the declaration of '\(stream.name)' does not match the store: \(difference). Restore the "
                            + "declaration, or use another stream name", stream: stream.name)
                }
                if known.definition == definition { continue }
            } else if let other = stored.first(where: { $0.stream.table == stream.table }) {
                throw StoreError(
                    .streams,
                    "the declaration of '\(stream.name)' does not match the store: its table \(stream.table) belongs to "
                        + "the stream '\(other.stream.name)'. Use another stream name", stream: stream.name)
            }
            rows.append(stream.name)
            rows.append(stream.table)
            rows.append(definition)
            rows.append(UInt64(clamping: Moment.now().wall.microseconds))
            rows.endRow()
        }
        guard !rows.isEmpty else { return }
        try client.insert(rows.bytes, into: "streams", columns: ["name", "table_name", "definition", "at"])
    }

    private func declared() throws(StoreError) -> [(stream: SensorStream, definition: String)] {
        var streams: [(stream: SensorStream, definition: String)] = []
        for row in try client.rows(
            "SELECT name, argMax(definition, at) FROM streams GROUP BY name ORDER BY name")
        {
            guard let name = row[0], let definition = row[1] else { continue }
            do {
                streams.append((try StreamDefinition(json: definition).stream(named: name), definition))
            } catch {
                throw StoreError(
                    .streams, "the definition of '\(name)' in the table 'streams' is invalid: \(error)", stream: name)
            }
        }
        return streams
    }
}
