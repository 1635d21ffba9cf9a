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
