public import LockstepModel

/// What a user says about the columns of a recording, where its header does not.
public struct RecordingFormat: Sendable, Hashable {
    /// A column of the file that is a column of a stream, or the time.
    public struct Mapping: Sendable, Hashable {
        enum Target: Hashable {
            /// A column of a stream, and the factor from the unit of the file to Lockstep's.
            case column(SensorStream, Int, scale: Double)
            /// The time, with its unit if that is known.
            case time(TimeUnit?)
        }

        let field: String
        let target: Target
    }

    /// The columns of the file that are columns of streams or the time. They replace what the header says of these.
    public var mappings: [Mapping] = []
    /// The unit of times; nil to find it from the header or the values.
    public var timeUnit: TimeUnit?

    /// Creates a format in which the header says everything.
    public init() {}
}

extension RecordingFormat.Mapping {
    /// The factors from other units to those of a stream. Accelerations in m/s² are the specific force that a chip measures,
    /// +1 g upward at rest, as in ``RecordingLayout``.
    private static let units: [SensorStream: [String: Double]] = [
        .accelerometer: ["g": 1, "m/s2": RecordingLayout.specificForce],
        .gyroscope: ["rad/s": 1, "deg/s": .pi / 180],
        .magnetometer: ["uT": 1, "G": 100, "mG": 0.1, "T": 1e6],
        .pressure: ["hPa": 1, "Pa": 0.01, "kPa": 10],
    ]

    /// Parses `FIELD=STREAM.COLUMN[:UNIT]`, such as `ax=accelerometer.x:m/s2`, or the time, such as `Time (s)=t_s`. Without a
    /// stream, the column `x`, `y` or `z` is that of the accelerometer.
    /// - Throws: ``SourceSpecificationError``.
    public init(_ text: String, streams: StreamCatalog) throws(SourceSpecificationError) {
        func refusal(_ reason: String) -> SourceSpecificationError {
            SourceSpecificationError(
                "'\(text)': \(reason); use FIELD=STREAM.COLUMN[:UNIT], such as ax=accelerometer.x:m/s2, or FIELD=t_s "
                    + "for the time")
        }
        let sides = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard sides.count == 2 else { throw refusal("a mapping has a field and a column") }
        let parts = sides[1].split(separator: ":", maxSplits: 1).map(String.init)
        if let time = RecordingLayout.timeNames.first(where: { $0.name == parts[0] }) {
            guard parts.count == 1 else { throw refusal("the name of a time has its unit, as t_ms") }
            (field, target) = (sides[0], .time(time.unit))
            return
        }
        let path = parts[0].split(separator: ".").map(String.init)
        let name = path.count == 1 ? SensorStream.accelerometer.table : path[0]
        guard path.count <= 2, let stream = streams.stream(named: name) else {
            throw refusal("there is no stream '\(name)'")
        }
        guard let column = stream.columns.firstIndex(where: { $0.name == path.last }) else {
            throw refusal(
                "\(stream) has no column '\(path.last ?? "")', only \(stream.columns.map(\.name).joined(separator: ", "))"
            )
        }
        var scale = 1.0
        if parts.count == 2 {
            let units = Self.units[stream] ?? [:]
            guard let factor = units[parts[1]] else {
                let known = units.keys.sorted().joined(separator: ", ")
                throw refusal(
                    "'\(parts[1])' is no unit of \(stream)" + (known.isEmpty ? ", which has only one" : " (\(known))"))
            }
            scale = factor
        }
        (field, target) = (sides[0], .column(stream, column, scale: scale))
    }
}

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
