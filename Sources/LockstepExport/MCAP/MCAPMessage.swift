import LockstepModel
import LockstepStore

/// A kind of message: how the samples of a stream are written to one channel, as JSON.
struct MCAPMessage: Sendable {
    /// The name of the schema. Foxglove recognises the names that begin with `foxglove.`
    let schema: String
    /// The schema, as JSON Schema.
    let definition: String
    /// The topic below that of the device.
    let topic: String
    /// Appends the members after the timestamp, or returns false if the sample has no message of this kind.
    let write: @Sendable (SampleRow, inout OutputBuffer) -> Bool

    /// Returns the kinds of messages of a stream: one with all columns, and one that Foxglove shows on a map or in 3D.
    static func kinds(of stream: SensorStream) -> [MCAPMessage] {
        switch stream {
        case .location: [all(stream), locationFix]
        case .deviceMotion: [all(stream), pose]
        default: [all(stream)]
        }
    }

    /// A message with the columns of a stream. Unknown values are left out.
    private static func all(_ stream: SensorStream) -> MCAPMessage {
        let columns = stream.columns.map { ($0.kind, ",\"\($0.name)\":") }
        let schema = "lockstep.\(stream.table)"
        let definition = JSONSchema.object(
            title: schema, summary: stream.summary,
            members: [("timestamp", JSONSchema.time)] + stream.columns.map { ($0.name, JSONSchema.column($0)) })
        return MCAPMessage(schema: schema, definition: definition, topic: stream.name) { row, output in
            for ((kind, name), value) in zip(columns, row.values) where value.isFinite {
                output.append(name)
                output.append(json: value, kind)
            }
            return true
        }
    }

    /// A position. The altitude is left out if it is unknown.
    ///
    /// The accuracies are taken as radii of 95 % confidence, as from gpsd. So in the covariance, a standard deviation is
    /// hacc / √(−2 ln 0.05) in each horizontal direction, and vacc / 1.96.
    private static let locationFix = MCAPMessage(
        schema: "foxglove.LocationFix", definition: JSONSchema.locationFix, topic: SensorStream.location.name + "/fix"
    ) { row, output in
        guard let fix = TrackFix(row) else { return false }
        output.append(",\"frame_id\":\"\(row.device)\",\"latitude\":\(fix.latitude),\"longitude\":\(fix.longitude)")
        if let altitude = fix.altitude { output.append(",\"altitude\":\(altitude)") }
        let (horizontal, vertical) = (fix.measures[0] / 2.4477, fix.measures[1] / 1.96)
        let isKnown = horizontal.isFinite
        let east = isKnown ? horizontal * horizontal : 0
        let up = isKnown && vertical.isFinite ? vertical * vertical : 0
        output.append(",\"position_covariance\":[\(east),0,0,0,\(east),0,0,0,\(up)],")
        output.append("\"position_covariance_type\":\(isKnown ? 1 : 0)")
        return true
    }

    /// An attitude at the origin of its reference frame.
    private static let pose = MCAPMessage(
        schema: "foxglove.PoseInFrame", definition: JSONSchema.poseInFrame,
        topic: SensorStream.deviceMotion.name + "/pose"
    ) { row, output in
        let values = row.values
        guard values[quaternion].allSatisfy(\.isFinite), let frame = Int(exactly: values[frame.index]),
            frames.indices.contains(frame)
        else { return false }
        let names = ["w", "x", "y", "z"]
        let orientation = zip(names, values[quaternion]).map { "\"\($0)\":\($1)" }.joined(separator: ",")
        output.append(",\"frame_id\":\"\(frames[frame])\",\"pose\":{\"position\":{\"x\":0,\"y\":0,\"z\":0},")
        output.append("\"orientation\":{\(orientation)}}")
        return true
    }

    /// The columns of the attitude, w to z, which precede all others.
    private static let quaternion = 0...3
    private static let frame = column(named: "frame")
    private static let frames = frame.column.kind.words ?? []

    private static func column(named name: String) -> (index: Int, column: SensorStream.Column) {
        let columns = SensorStream.deviceMotion.columns
        guard let index = columns.firstIndex(where: { $0.name == name }) else {
            preconditionFailure("the stream motion/device has no column \(name)")
        }
        return (index, columns[index])
    }
}
