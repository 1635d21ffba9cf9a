import LockstepModel

/// Finds declared streams in the header of a recording.
///
/// A column is named by its own name, such as `ppm`, or by stream and column, such as `x/co2.ppm`. The second form is
/// required if several streams have a column of the same name. A recording contains a declared stream if it has all
/// required columns of the stream, and at least one column.
enum DeclaredForm {
    /// Returns the declared streams that a header contains.
    /// - Parameters:
    ///   - fieldIndices: The index of each header's field.
    ///   - builtIn: The built-in streams that the header contains.
    /// - Throws: The reason if a header may belong to several streams.
    static func parts(
        of streams: [SensorStream], fieldIndices: [String: Int], besides builtIn: [RecordingLayout.Part]
    ) throws(RowError) -> [RecordingLayout.Part] {
        let parts = streams.compactMap { part(of: $0, fieldIndices: fieldIndices) }
        var owners: [Int: SensorStream] = [:]
        for part in builtIn + parts {
            for (column, field) in zip(part.stream.columns, part.fields) {
                guard let field else { continue }
                if let other = owners.updateValue(part.stream, forKey: field.index), other != part.stream {
                    throw RowError(
                        "the header '\(column.name)' may belong to \(other) or to \(part.stream): "
                            + "write '\(part.stream).\(column.name)' for the latter")
                }
            }
        }
        return parts
    }

    private static func part(of stream: SensorStream, fieldIndices: [String: Int]) -> RecordingLayout.Part? {
        let fields = stream.columns.map { fieldIndices["\(stream.name).\($0.name)"] ?? fieldIndices[$0.name] }
        guard fields.contains(where: { $0 != nil }),
            zip(stream.columns, fields).allSatisfy({ !$0.isRequired || $1 != nil })
        else { return nil }
        return RecordingLayout.Part(
            stream: stream, fields: fields.map { $0.map { RecordingLayout.Field(index: $0) } }, fillsWithZero: false)
    }
}
