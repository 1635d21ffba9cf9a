import LockstepModel

/// The form of declared streams in recordings.
///
/// The header of a column is its name, such as `ppm`, or stream and column, such as `x/co2.ppm`. The second form is
/// required if several streams have a column of that name. A recording contains a declared stream if it has all required
/// columns of the stream, and at least one column.
enum DeclaredForm {
    /// Returns the declared streams that a header contains.
    /// - Parameters:
    ///   - places: the field of each header.
    ///   - builtIn: the built-in streams that the header contains.
    /// - Throws: the reason, if a header may belong to several streams.
    static func parts(
        of streams: [SensorStream], places: [String: Int], besides builtIn: [RecordingLayout.Part]
    ) throws(RowError) -> [RecordingLayout.Part] {
        let parts = streams.compactMap { part(of: $0, places: places) }
        var owners: [Int: SensorStream] = [:]
        for part in builtIn + parts {
            for (column, field) in zip(part.stream.columns, part.fields) {
                guard let field else { continue }
                if let other = owners.updateValue(part.stream, forKey: field), other != part.stream {
                    throw RowError(
                        "the header '\(column.name)' may belong to \(other) or to \(part.stream): "
                            + "write '\(part.stream).\(column.name)' for the latter")
                }
            }
        }
        return parts
    }

    private static func part(of stream: SensorStream, places: [String: Int]) -> RecordingLayout.Part? {
        let fields = stream.columns.map { places["\(stream.name).\($0.name)"] ?? places[$0.name] }
        guard fields.contains(where: { $0 != nil }),
            zip(stream.columns, fields).allSatisfy({ !$0.isRequired || $1 != nil })
        else { return nil }
        return RecordingLayout.Part(stream: stream, fields: fields, scale: 1, fillsWithZero: false)
    }
}
