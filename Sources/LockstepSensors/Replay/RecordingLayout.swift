package import LockstepModel
import LockstepMotion

/// Which field of a recording's rows is which column of which stream, as its header says.
package struct RecordingLayout: Sendable {
    /// One stream that the recording holds.
    package struct Part: Sendable {
        package let stream: SensorStream
        /// For each column of the stream the field that holds it, if any does.
        let fields: [Int?]
        /// What a field's number is multiplied by.
        let scale: Double
        /// Whether a required column that no header names is 0 instead of missing.
        let fillsWithZero: Bool
    }

    /// What the headers are that a recording can have, for people.
    static let known = """
        t_us with x_g,y_g,z_g or ax_m_s2,ay_m_s2,az_m_s2 or magnitude_g (accelerometer), gx_rad_s,gy_rad_s,gz_rad_s (gyroscope), \
        mx_uT,my_uT,mz_uT (magnetometer), lat,lon[,alt,hacc,vacc,speed,course,fix,at] (location)
        """

    /// How many fields a row has.
    let fieldCount: Int
    /// The field of the time in µs.
    let timeField: Int
    package let parts: [Part]
    /// For each extra column that was asked for the field that holds it, if any does.
    let extraFields: [Int?]

    /// The layout that a header names.
    /// - Parameter extras: headers of other columns that the caller wants to have.
    /// - Throws: ``ReplayError`` where the header names no time, no stream, or a field twice.
    package init(
        header: String, file: String, extras: [String] = [], streams: StreamCatalog = .builtIn
    ) throws(ReplayError) {
        func refuse(_ reason: String) -> ReplayError { ReplayError(file: file, line: 1, reason: reason) }
        let names = header.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingSpaces() }
        var places: [String: Int] = [:]
        for (index, name) in names.enumerated() where !name.isEmpty {
            guard places.updateValue(index, forKey: name) == nil else {
                throw refuse("the header names '\(name)' twice")
            }
        }
        guard let timeField = places["t_us"] else {
            throw refuse("no header, or one without t_us; a recording has \(Self.known)")
        }
        let builtIn = Self.forms.compactMap { $0.part(places: places) }.removingRepeats()
        do {
            parts = builtIn + (try DeclaredForm.parts(of: streams.declared, places: places, besides: builtIn))
        } catch {
            throw refuse(error.reason)
        }
        guard !parts.isEmpty else { throw refuse("the header names no stream; a recording has \(Self.known)") }
        self.timeField = timeField
        extraFields = extras.map { places[$0] }
        fieldCount = names.count
    }

    /// One way to write a stream.
    private struct Form {
        let stream: SensorStream
        /// For each column of the stream its header; nil for a column that this form has not.
        let names: [String?]
        /// How many of `names` must be there.
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

        func part(places: [String: Int]) -> Part? {
            let fields = names.map { name in name.flatMap { places[$0] } }
            guard zip(names, fields).prefix(required).allSatisfy({ $0 == nil || $1 != nil }) else { return nil }
            return Part(stream: stream, fields: fields, scale: scale, fillsWithZero: fillsWithZero)
        }
    }

    /// m/s² are the specific force that a bare accelerometer chip gives, +1 g up at rest; ours is -1 g.
    private static let specificForce = -1 / standardGravity

    private static let forms: [Form] = [
        Form(.accelerometer, ["x_g", "y_g", "z_g"]),
        Form(.accelerometer, ["ax_g", "ay_g", "az_g"]),
        Form(.accelerometer, ["ax_m_s2", "ay_m_s2", "az_m_s2"], scale: specificForce),
        Form(.accelerometer, ["x_m_s2", "y_m_s2", "z_m_s2"], scale: specificForce),
        // Of a magnitude alone all is put on one axis: enough for whatever does not ask for a direction.
        Form(.accelerometer, [nil, nil, "magnitude_g"], scale: -1, fillsWithZero: true),
        Form(.gyroscope, ["gx_rad_s", "gy_rad_s", "gz_rad_s"]),
        Form(.magnetometer, ["mx_uT", "my_uT", "mz_uT"]),
        Form(.location, SensorStream.location.columns.map(\.name), required: 2),
    ]
}

extension [RecordingLayout.Part] {
    /// The first way that a stream is written in.
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
