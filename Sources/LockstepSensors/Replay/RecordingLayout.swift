package import LockstepModel
import LockstepMotion

/// The assignment of a recording's fields to streams and columns, as its header defines it.
package struct RecordingLayout: Sendable {
    /// A stream in the recording.
    package struct Part: Sendable {
        /// The stream.
        package let stream: SensorStream
        /// The index of each column's field; nil for a column without a field.
        let fields: [Int?]
        /// The factor from the recorded unit to Lockstep's.
        let scale: Double
        /// Whether a required column without a field is 0 instead of missing.
        let fillsWithZero: Bool
    }

    /// The supported headers, for error texts.
    static let known = """
        t_us with x_g,y_g,z_g or ax_m_s2,ay_m_s2,az_m_s2 or magnitude_g (accelerometer), gx_rad_s,gy_rad_s,gz_rad_s (gyroscope), \
        mx_uT,my_uT,mz_uT (magnetometer), lat,lon[,alt,hacc,vacc,speed,course,fix,at] (location), pressure_hPa (pressure)
        """

    /// The number of fields in a row.
    let fieldCount: Int
    /// The index of the field with the time in µs.
    let timeField: Int
    /// The streams in the recording.
    package let parts: [Part]
    /// The index of each additional column's field; nil for a missing column.
    let extraFields: [Int?]

    /// Parses a header.
    /// - Parameters:
    ///   - extras: The headers of additional columns.
    ///   - streams: The streams that the recording can contain.
    /// - Throws: ``ReplayError`` if the header lacks the time, contains no stream, or contains a name twice.
    package init(
        header: String, file: String, extras: [String] = [], streams: StreamCatalog = .builtIn
    ) throws(ReplayError) {
        func refusal(_ reason: String) -> ReplayError { ReplayError(file: file, line: 1, reason: reason) }
        let names = header.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingSpaces() }
        var fieldIndices: [String: Int] = [:]
        for (index, name) in names.enumerated() where !name.isEmpty {
            guard fieldIndices.updateValue(index, forKey: name) == nil else {
                throw refusal("the header contains '\(name)' twice")
            }
        }
        guard let timeField = fieldIndices["t_us"] else {
            throw refusal("the header is missing or has no t_us; a recording has \(Self.known)")
        }
        let builtIn = Self.forms.compactMap { $0.part(fieldIndices: fieldIndices) }.removingRepeats()
        do {
            parts =
                builtIn + (try DeclaredForm.parts(of: streams.declared, fieldIndices: fieldIndices, besides: builtIn))
        } catch {
            throw refusal(error.reason)
        }
        guard !parts.isEmpty else { throw refusal("the header contains no stream; a recording has \(Self.known)") }
        self.timeField = timeField
        extraFields = extras.map { fieldIndices[$0] }
        fieldCount = names.count
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
            let fields = names.map { name in name.flatMap { fieldIndices[$0] } }
            guard zip(names, fields).prefix(required).allSatisfy({ $0 == nil || $1 != nil }) else { return nil }
            return Part(stream: stream, fields: fields, scale: scale, fillsWithZero: fillsWithZero)
        }
    }

    /// The factor from m/s² to g. Recordings in m/s² contain the specific force that an accelerometer chip measures, +1
    /// g upward at rest; Lockstep's convention is -1 g.
    private static let specificForce = -1 / standardGravity

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

extension Substring {
    fileprivate func trimmingSpaces() -> String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
