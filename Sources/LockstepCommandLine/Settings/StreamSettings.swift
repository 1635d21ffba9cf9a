import LockstepModel

/// The section `streams` of a settings file: declarations of streams.
///
/// ```yaml
/// streams:
///   x/co2:
///     columns:
///       ppm: {kind: real, unit: ppm, aggregate: mean}
/// ```
struct StreamSettings {
    /// The name of the section.
    static let key = "streams"

    private(set) var catalog = StreamCatalog.builtIn
    /// The line of each declaration, by stream name.
    private(set) var lines: [String: Int] = [:]

    /// Reads the section.
    /// - Throws: ``CommandFailure`` for an invalid declaration. Its text has the file, the line and a suggestion.
    init(_ section: YAMLNode, file: String) throws {
        var declared: [SensorStream] = []
        for (name, node, line) in try Fields(section, "'streams'", file: file).entries {
            let place = "\(file):\(line): stream '\(name)'"
            declared.append(try Self.stream(name, node, file: file, place))
            lines[name] = line
            do { catalog = try StreamCatalog(declared: declared) } catch { throw CommandFailure("\(place): \(error)") }
        }
    }

    private static func stream(_ name: String, _ node: YAMLNode, file: String, _ place: String) throws -> SensorStream {
        let fields = try Fields(node, "stream '\(name)'", file: file)
        try fields.checkKeys(["summary", "columns", "pauses-in-background"])
        var columns: [SensorStream.Column] = []
        if let section = fields.node("columns") {
            for (column, node, line) in try Fields(section, "'columns' of stream '\(name)'", file: file).entries {
                let subject = "column '\(column)' of stream '\(name)'"
                let fields = try Fields(node, subject, file: file)
                do { columns.append(try Self.column(column, fields)) } catch let error as StreamDeclarationError {
                    throw CommandFailure("\(file):\(line): \(subject): \(error)")
                }
            }
        }
        let pauses = try fields.value("pauses-in-background", boolean) ?? false
        do {
            return try SensorStream(
                declaring: name, summary: try fields.text("summary", mayBeEmpty: true) ?? "", columns: columns,
                pausesInBackground: pauses)
        } catch let error as StreamDeclarationError {
            throw CommandFailure("\(place): \(error)")
        }
    }

    private static func column(_ name: String, _ fields: Fields) throws -> SensorStream.Column {
        try fields.checkKeys(["kind", "unit", "aggregate", "words", "required", "summary"])
        return try SensorStream.Column(
            declaring: name,
            kind: try SensorStream.Kind(
                name: try fields.text("kind") ?? "real", words: fields.has("words") ? fields.texts("words") : nil),
            unit: try fields.text("unit", mayBeEmpty: true) ?? "",
            isRequired: try fields.value("required", boolean) ?? true,
            summary: try fields.text("summary", mayBeEmpty: true) ?? "",
            aggregate: try fields.text("aggregate").map { name in try SensorStream.Aggregate(name: name) })
    }
}
