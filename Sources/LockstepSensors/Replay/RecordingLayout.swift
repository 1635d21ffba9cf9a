package import LockstepModel
import LockstepMotion

/// The assignment of a recording's fields to streams and columns, as its header defines it.
package struct RecordingLayout: Sendable {
    /// A stream in the recording.
    package struct Part: Sendable {
        package let stream: SensorStream
        /// The field of each column; nil for a column without one.
        let fields: [Field?]
        /// Whether a required column without a field is 0 instead of missing.
        let fillsWithZero: Bool
    }

    struct Field: Sendable {
        let index: Int
        /// The factor from the recorded unit to Lockstep's.
        var scale = 1.0
    }

    let fieldCount: Int
    package let timeField: Int
    /// The unit of times; nil if the header does not say it.
    let timeUnit: TimeUnit?
    /// The indices of the fields with the group and the device of a row, in an export of Lockstep; empty without a device.
    let deviceFields: [Int]
    /// The index of the field with the stream of a row, in an export of one stream.
    let streamField: Int?
    /// The stream of all rows, if there is ``streamField``.
    let streamName: String?
    /// The byte between fields. If it is not a comma, numbers may have a decimal comma.
    let separator: UInt8
    /// The streams in the recording.
    package let parts: [Part]
    /// The index of each additional column's field; nil for a missing column.
    let extraFields: [Int?]

    /// Parses a header of CSV.
    /// - Parameters:
    ///   - extras: The headers of additional columns.
    ///   - streams: The streams that the recording can contain.
    ///   - format: What the user says about the columns.
    /// - Throws: ``ReplayError`` if the header lacks the time, contains no stream, or contains a name twice.
    package init(
        header: String, file: String, extras: [String] = [], streams: StreamCatalog = .builtIn,
        format: RecordingFormat = RecordingFormat()
    ) throws(ReplayError) {
        let (names, separator) = Self.names(of: header)
        try self.init(
            names: names, separator: separator, streamNames: [], file: file, extras: extras, streams: streams,
            format: format)
    }

    /// Finds the streams of a recording whose fields have names.
    /// - Parameters:
    ///   - streamNames: The names of its streams, if the file says them.
    ///   - extras: The names of additional columns.
    ///   - streams: The streams that the recording can contain.
    ///   - format: What the user says about the columns.
    ///   - isMCAP: Whether the file is MCAP, which has no header and names no time.
    /// - Throws: ``ReplayError`` if the names lack the time, contain no stream, or contain a name twice.
    init(
        names: [String], separator: UInt8, streamNames: [String], file: String, extras: [String] = [],
        streams: StreamCatalog = .builtIn, format: RecordingFormat = RecordingFormat(), isMCAP: Bool = false
    ) throws(ReplayError) {
        func refusal(_ reason: String) -> ReplayError {
            ReplayError(file: file, line: isMCAP ? nil : 1, reason: reason)
        }
        self.separator = separator
        fieldCount = names.count
        let named: [String]
        do throws(RowError) {
            // Topics of MCAP have slashes, too.
            named = isMCAP ? names : try Self.withoutDevice(names, streams)
        } catch { throw refusal(error.reason) }
        var fieldIndices: [String: Int] = [:]
        for (index, name) in named.enumerated() where !name.isEmpty {
            guard fieldIndices.updateValue(index, forKey: name) == nil else {
                throw refusal("the header contains '\(name)' twice")
            }
        }
        var mappedTime: (field: Int, unit: TimeUnit?)?
        for mapping in format.mappings {
            guard case .time(let unit) = mapping.target else { continue }
            guard let index = fieldIndices[mapping.field] else {
                throw refusal("the header has no '\(mapping.field)' of --map")
            }
            guard mappedTime == nil else { throw refusal("--map gives the time twice") }
            mappedTime = (index, unit)
        }
        guard
            let time = mappedTime
                ?? Self.timeNames.lazy.compactMap({ name in fieldIndices[name.name].map { ($0, name.unit) } }).first
        else {
            throw refusal(
                "the header is missing or has no time: the first line names the columns, the time as t_us, t_ms, t_s, "
                    + "t_ns, t, time or timestamp, or --map FIELD=t_s does; see 'lockstep help analyze'")
        }
        timeField = time.field
        // Other recorders use single ones of these names, for times in other units.
        let isExport =
            ["group", "device", "t", "time"].allSatisfy { fieldIndices[$0] != nil }
            || (named != names && fieldIndices["t"] != nil)
        timeUnit = format.timeUnit ?? time.unit ?? (isExport ? .microseconds : nil)
        deviceFields =
            fieldIndices["device"].map { (isExport ? [fieldIndices["group"]].compactMap(\.self) : []) + [$0] } ?? []
        streamField = Self.streamField(fieldIndices)
        streamName = streamField == nil ? nil : streamNames.first
        for name in streamNames where streams.stream(named: name) == nil {
            throw refusal(
                "the samples are of '\(name)', which is none of the streams here: \(streams.unknownStreamMessage(for: name))"
            )
        }
        do throws(RowError) {
            let mapped = try format.parts(fieldIndices: fieldIndices, isMCAP: isMCAP)
            if let stream = streamName.flatMap({ streams.stream(named: $0) }) {
                parts = mapped.isEmpty ? stream.part(fieldIndices: fieldIndices).map { [$0] } ?? [] : mapped
            } else {
                parts = try Self.parts(fieldIndices, mapped: mapped, streams)
            }
        } catch {
            throw refusal(error.reason)
        }
        guard !parts.isEmpty else {
            let fields = isMCAP ? names.filter { $0 != MCAPRows.time } : names
            throw refusal(
                "\(Self.shortList(fields)) are not the columns of a stream: name them with --map "
                    + "FIELD=STREAM.COLUMN[:UNIT], such as ax=accelerometer.x:m/s2, or as in 'lockstep help analyze'")
        }
        extraFields = extras.map { fieldIndices[$0] }
    }

    /// Returns the first of the names of fields, for error texts.
    private static func shortList(_ names: [String]) -> String {
        names.prefix(12).joined(separator: ", ") + (names.count > 12 ? " and \(names.count - 12) more" : "")
    }

    /// Returns the names of the fields of a header of CSV, and the byte between them.
    package static func names(of header: String) -> (names: [String], separator: UInt8) {
        let separator = separator(of: header)
        let names = header.utf8.split(separator: separator, omittingEmptySubsequences: false)
            .map { String(Substring($0)).unquoted() }
        return (names, separator)
    }

    /// Returns the field with the stream of each row, in an export of Lockstep.
    static func streamField(_ fieldIndices: [String: Int]) -> Int? {
        fieldIndices["device"] == nil || fieldIndices["t"] == nil ? nil : fieldIndices["stream"]
    }

    /// Returns the table of a stream, whether it is known here or not.
    static func table(of stream: String) -> String {
        StreamCatalog.builtIn.stream(named: stream)?.table ?? stream.replacing("/", with: "_")
    }

    /// Returns the names of a resampled table without the device, such as `accelerometer_x` for
    /// `lab/arm/accelerometer_x`.
    private static func withoutDevice(_ names: [String], _ streams: StreamCatalog) throws(RowError) -> [String] {
        var devices: Set<String> = []
        let named = names.map { name in
            let parts = name.split(separator: "/", maxSplits: 2)
            guard parts.count == 3, streams.streams.contains(where: { parts[2].hasPrefix($0.table + "_") }) else {
                return name
            }
            devices.insert("\(parts[0])/\(parts[1])")
            return String(parts[2])
        }
        guard devices.count < 2 else {
            throw RowError(
                "the table has several devices: \(devices.sorted().joined(separator: ", ")): export one device")
        }
        return named
    }

    /// Returns the streams to which the names of fields belong.
    private static func parts(
        _ fieldIndices: [String: Int], mapped: [Part], _ streams: StreamCatalog
    ) throws(RowError) -> [Part] {
        let builtIn = (mapped + forms.compactMap { $0.part(fieldIndices: fieldIndices) }).removingRepeats()
        var found =
            builtIn + (try DeclaredForm.parts(of: streams.declared, fieldIndices: fieldIndices, besides: builtIn))
        if found.isEmpty {
            found = streams.streams.compactMap { $0.part(fieldIndices: fieldIndices, prefix: $0.table + "_") }
        }
        return found.isEmpty ? try onlyPart(of: streams, fieldIndices) : found
    }

    /// The names of the field with the time, and their units.
    static let timeNames: [(name: String, unit: TimeUnit?)] =
        [.microseconds, .milliseconds, .seconds, .nanoseconds].map { ("t_\($0.rawValue)", $0) }
        + ["t", "time", "timestamp"].map { ($0, nil) }

    /// Returns the byte that separates the fields of a header.
    private static func separator(of header: String) -> UInt8 {
        let counts = [",", ";", "\t"].map { mark in header.count { String($0) == mark } }
        if counts[1] > counts[0] { return UInt8(ascii: ";") }
        return counts[2] > counts[0] ? UInt8(ascii: "\t") : UInt8(ascii: ",")
    }

    /// Returns the only stream whose columns have the names of fields, such as in an export of one stream.
    private static func onlyPart(
        of streams: StreamCatalog, _ fieldIndices: [String: Int]
    ) throws(RowError) -> [Part] {
        let parts = streams.streams.filter { $0.columns.allSatisfy { fieldIndices[$0.name] != nil } }
            .compactMap { $0.part(fieldIndices: fieldIndices) }
        let most = parts.map(\.fields.count).max() ?? 0
        let best = parts.filter { $0.fields.count == most }
        guard best.count <= 1 else {
            let names = best[0].stream.columns.map(\.name)
            throw RowError(
                "the columns \(names.joined(separator: ", ")) may be those of "
                    + best.map(\.stream.name).joined(separator: ", ")
                    + ": say which with --map \(names[0])=\(best[0].stream.table).\(names[0]) for each column")
        }
        return best
    }

    /// A supported set of headers for one stream.
    private struct Form {
        let stream: SensorStream
        /// The header of each column of the stream; nil for a column that this form does not contain.
        let names: [String?]
        /// The number of leading names that are required.
        let required: Int
        let scale: Double
        let fillsWithZero: Bool

        init(
            _ stream: SensorStream, _ names: [String?], required: Int = 3, scale: Double = 1,
            fillsWithZero: Bool = false
        ) {
            self.stream = stream
            self.names = names
            self.required = required
            self.scale = scale
            self.fillsWithZero = fillsWithZero
        }

        func part(fieldIndices: [String: Int]) -> Part? {
            let fields = names.map { name in name.flatMap { fieldIndices[$0] }.map { Field(index: $0, scale: scale) } }
            guard zip(names, fields).prefix(required).allSatisfy({ $0 == nil || $1 != nil }) else { return nil }
            return Part(stream: stream, fields: fields, fillsWithZero: fillsWithZero)
        }
    }

    /// The factor from m/s² to g. Recordings in m/s² contain the specific force that an accelerometer chip measures, +1
    /// g upward at rest; Lockstep's convention is -1 g.
    static let specificForce = -1 / standardGravity

    private static let forms: [Form] = [
        Form(.accelerometer, ["x_g", "y_g", "z_g"]),
        Form(.accelerometer, ["ax_g", "ay_g", "az_g"]),
        Form(.accelerometer, ["ax_m_s2", "ay_m_s2", "az_m_s2"], scale: specificForce),
        Form(.accelerometer, ["x_m_s2", "y_m_s2", "z_m_s2"], scale: specificForce),
        // A magnitude is assigned to one axis, which suffices for algorithms that ignore the direction.
        Form(.accelerometer, [nil, nil, "magnitude_g"], scale: -1, fillsWithZero: true),
        Form(.gyroscope, ["gx_rad_s", "gy_rad_s", "gz_rad_s"]),
        Form(.magnetometer, ["mx_uT", "my_uT", "mz_uT"]),
        Form(.location, SensorStream.location.columns.map(\.name), required: 2),
        Form(.pressure, ["pressure_hPa"], required: 1),
    ]
}

extension [RecordingLayout.Part] {
    /// Keeps the first part of each stream.
    fileprivate func removingRepeats() -> [RecordingLayout.Part] {
        reduce(into: []) { kept, part in
            if !kept.contains(where: { $0.stream == part.stream }) { kept.append(part) }
        }
    }
}

extension SensorStream {
    /// Returns the part of a recording whose header has the required columns of the stream, and at least one column.
    /// - Parameter prefix: what precedes the names of columns.
    fileprivate func part(fieldIndices: [String: Int], prefix: String = "") -> RecordingLayout.Part? {
        let fields = columns.map { fieldIndices[prefix + $0.name].map { RecordingLayout.Field(index: $0) } }
        guard fields.contains(where: { $0 != nil }), zip(columns, fields).allSatisfy({ !$0.isRequired || $1 != nil })
        else { return nil }
        return RecordingLayout.Part(stream: self, fields: fields, fillsWithZero: false)
    }
}

extension RecordingFormat {
    /// Returns the streams that the user has mapped.
    /// - Throws: The reason if a field is missing.
    func parts(fieldIndices: [String: Int], isMCAP: Bool) throws(RowError) -> [RecordingLayout.Part] {
        var fields: [SensorStream: [RecordingLayout.Field?]] = [:]
        for mapping in mappings {
            guard case .column(let stream, let column, let scale) = mapping.target else { continue }
            guard let index = fieldIndices[mapping.field] else {
                let names = fieldIndices.keys.filter { !isMCAP || $0 != MCAPRows.time }.sorted()
                throw RowError(
                    (isMCAP ? "the messages have" : "the header has") + " no '\(mapping.field)' of --map; "
                        + (isMCAP ? "they have " : "it has ") + names.joined(separator: ", "))
            }
            guard fields[stream]?[column] == nil else {
                throw RowError(
                    "--map gives the column \(stream.columns[column].name) of \(stream) twice")
            }
            let empty = [RecordingLayout.Field?](repeating: nil, count: stream.columns.count)
            fields[stream, default: empty][column] =
                RecordingLayout.Field(index: index, scale: scale)
        }
        for (stream, fields) in fields {
            guard let missing = zip(stream.columns, fields).first(where: { $0.isRequired && $1 == nil }) else {
                continue
            }
            throw RowError("--map needs the column \(missing.0.name) of \(stream), too")
        }
        return fields.keys.sorted { $0.name < $1.name }.map {
            RecordingLayout.Part(stream: $0, fields: fields[$0] ?? [], fillsWithZero: false)
        }
    }
}

extension String {
    /// Removes spaces, and then quotation marks, from both ends.
    func unquoted() -> String {
        let trimmed = drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
        let text = String(trimmed)
        guard text.count >= 2, text.first == "\"", text.last == "\"" else { return text }
        return String(text.dropFirst().dropLast())
    }
}
