import FoundationEssentials
package import LockstepModel

/// The definition of a declared stream as JSON in the table `streams`.
package struct StreamDefinition: Codable, Equatable {
    struct Column: Codable, Equatable {
        var name: String
        var kind: String
        var words: [String]?
        var unit: String
        var required: Bool
        var summary: String
        var aggregate: String
    }

    var summary: String
    var pausesInBackground: Bool
    var columns: [Column]

    enum CodingKeys: String, CodingKey {
        case summary
        case pausesInBackground = "pauses_in_background"
        case columns
    }

    package init(_ stream: SensorStream) {
        summary = stream.summary
        pausesInBackground = stream.pausesInBackground
        columns = stream.columns.map { column in
            Column(
                name: column.name, kind: column.kind.name, words: column.kind.words, unit: column.unit,
                required: column.isRequired, summary: column.summary, aggregate: column.aggregate.rawValue)
        }
    }

    package init(json: String) throws {
        self = try JSONDecoder().decode(StreamDefinition.self, from: Data(json.utf8))
    }

    /// The definition as JSON with sorted keys, so that equal definitions have equal JSON.
    package var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding strings and Booleans cannot fail.
        guard let data = try? encoder.encode(self) else {
            preconditionFailure("a stream definition cannot be encoded as JSON")
        }
        return String(decoding: data, as: UTF8.self)
    }

    /// Returns the declared stream with this definition.
    /// - Throws: ``StreamDeclarationError`` if the definition is invalid.
    package func stream(named name: String) throws(StreamDeclarationError) -> SensorStream {
        var columns: [SensorStream.Column] = []
        for column in self.columns {
            columns.append(
                try SensorStream.Column(
                    declaring: column.name, kind: try SensorStream.Kind(name: column.kind, words: column.words),
                    unit: column.unit, isRequired: column.required, summary: column.summary,
                    aggregate: try SensorStream.Aggregate(name: column.aggregate)))
        }
        return try SensorStream(
            declaring: name, summary: summary, columns: columns, pausesInBackground: pausesInBackground)
    }
}

// The declared streams of a store allow readers to work without the settings of the collector.
extension StreamDefinition {
    /// Returns the built-in streams and the declared streams of a store.
    /// - Throws: ``StoreError`` if a definition is invalid, for example after manual edits.
    package static func catalog(_ source: any StoreSource) throws(StoreError) -> StreamCatalog {
        let declared = try declared(source)
        do { return try StreamCatalog(declared: declared) } catch {
            throw StoreError(.streams, "the table 'streams' of \(source.name) is invalid: \(error)")
        }
    }

    private static func declared(_ source: any StoreSource) throws(StoreError) -> [SensorStream] {
        try source.rows(source.dialect.definitions) { row throws(StoreError) in
            guard let name = row.text(at: 0), let text = row.text(at: 1) else { return nil }
            do { return try StreamDefinition(json: text).stream(named: name) } catch {
                throw StoreError(
                    .streams,
                    "the definition of '\(name)' in the table 'streams' of \(source.name) is invalid: \(error)",
                    stream: name)
            }
        }
    }

    /// Returns those of the streams whose definition has to be written.
    /// - Throws: ``StoreError`` if a stream differs from the stored one or has the table of another.
    package static func changes(
        to streams: [SensorStream], in source: any StoreSource
    ) throws(StoreError) -> [(stream: SensorStream, definition: String, isNew: Bool)] {
        guard !streams.isEmpty else { return [] }
        let stored = try declared(source)
        var changes: [(stream: SensorStream, definition: String, isNew: Bool)] = []
        for stream in streams {
            let definition = StreamDefinition(stream).json
            let known = stored.first { $0.name == stream.name }
            if let difference = known.flatMap({ stream.difference(from: $0) }) {
                throw conflict(stream, "\(difference). Restore the declaration, or use another stream name", source)
            }
            if known == nil, let other = stored.first(where: { $0.table == stream.table }) {
                throw conflict(
                    stream, "its table \(stream.table) belongs to the stream '\(other.name)'. Use another stream name",
                    source)
            }
            guard known.map({ StreamDefinition($0).json }) != definition else { continue }
            changes.append((stream, definition, known == nil))
        }
        return changes
    }

    static func conflict(_ stream: SensorStream, _ reason: String, _ source: any StoreSource) -> StoreError {
        StoreError(
            .streams, "the declaration of '\(stream.name)' does not match the store \(source.name): \(reason)",
            stream: stream.name)
    }
}
