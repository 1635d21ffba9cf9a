import LockstepModel

/// Schemas of messages, as JSON Schema. Members that may be missing are not marked, as in the schemas of Foxglove.
enum JSONSchema {
    /// A time in s and ns since 1970.
    static let time =
        #"{"type":"object","title":"time","properties":{"sec":{"type":"integer","minimum":0},"#
        + #""nsec":{"type":"integer","minimum":0,"maximum":999999999}}}"#

    private static let number = #"{"type":"number"}"#

    static func object(title: String, summary: String? = nil, members: [(name: String, schema: String)]) -> String {
        let description = summary.map { #""description":\#(JSONRowsWriter.string($0)),"# } ?? ""
        let properties = members.map { "\(JSONRowsWriter.string($0.name)):\($0.schema)" }.joined(separator: ",")
        return
            #"{"title":\#(JSONRowsWriter.string(title)),\#(description)"type":"object","properties":{\#(properties)}}"#
    }

    /// Returns a schema of the values of a column, with its unit.
    static func column(_ column: SensorStream.Column) -> String {
        let unit = column.unit.isEmpty ? "" : ", in \(column.unit)"
        let description = JSONRowsWriter.string(column.summary + unit)
        let type =
            switch column.kind {
            case .real: #""type":"number""#
            case .integer: #""type":"integer""#
            case .choice(let words): #""type":"string","enum":\#(JSONRowsWriter.strings(words))"#
            }
        return "{\(type),\"description\":\(description)}"
    }

    /// The schema of a position that Foxglove shows on a map (https://docs.foxglove.dev/docs/visualization/message-schemas).
    static let locationFix = object(
        title: "foxglove.LocationFix", summary: "A position fix",
        members: [
            ("timestamp", time), ("frame_id", #"{"type":"string"}"#), ("latitude", number), ("longitude", number),
            ("altitude", number),
            ("position_covariance", #"{"type":"array","items":{"type":"number"},"minItems":9,"maxItems":9}"#),
            ("position_covariance_type", #"{"type":"integer","enum":[0,1,2,3]}"#),
        ])

    /// The schema of a pose that Foxglove shows in 3D.
    static let poseInFrame = object(
        title: "foxglove.PoseInFrame", summary: "A pose in a reference frame",
        members: [
            ("timestamp", time), ("frame_id", #"{"type":"string"}"#),
            (
                "pose",
                object(
                    title: "foxglove.Pose",
                    members: [
                        ("position", vector(title: "foxglove.Vector3", ["x", "y", "z"])),
                        ("orientation", vector(title: "foxglove.Quaternion", ["x", "y", "z", "w"])),
                    ])
            ),
        ])

    static let marker = object(
        title: "lockstep.marker", summary: "A marker of a session",
        members: [
            ("timestamp", time), ("text", #"{"type":"string"}"#), ("clock", #"{"type":"string"}"#),
            ("device", #"{"type":"string"}"#), ("value", number), ("duration_s", number),
        ])

    private static func vector(title: String, _ names: [String]) -> String {
        object(title: title, members: names.map { ($0, number) })
    }
}
