import LockstepMQTT

/// What a hostile device can send within its own topics, as fast as it can.
enum Flood: String, CaseIterable {
    case epochs = "a new epoch in each batch"
    case gaps = "a gap before each batch"
    case invalid = "an invalid batch with a new epoch"
    case streams = "a new topic for each message"
    case conflicts = "other values at the same time"
    case states = "a new state in each presence"
    case dropped = "dropped batches of a new epoch in each presence"
    case pending = "new epochs in the pending batches of each presence"
    case estimates = "16 new estimates of the clock in each presence"
    case sessions = "sessions in the future"

    /// Returns message `number` of the device `lab/evil`.
    /// - Parameter time: the start of the flood, in µs since 1970.
    func message(_ number: Int, _ time: Int64) -> MQTTMessage {
        let at = time + Int64(number)
        let sample = #""t":\#(at),"x":[1],"y":[0],"z":[0]"#
        let batch = "motion/accelerometer"
        let (channel, text) =
            switch self {
            case .epochs: (batch, #"{"epoch":"e\#(number)","seq":1,\#(sample)}"#)
            case .gaps: (batch, #"{"epoch":"gaps","seq":\#(2 * number + 1),\#(sample)}"#)
            case .invalid: (batch, #"{"epoch":"i\#(number)","seq":1,"t":\#(at),"x":[null],"y":[0],"z":[0]}"#)
            case .streams: ("x/r\(number)/y\(number)", "{\(sample)}")
            case .conflicts: (batch, #"{"t":\#(time),"x":[\#(number)],"y":[0],"z":[0]}"#)
            case .states:
                ("presence", #"{"phase":"\#(number % 2 == 0 ? "foreground" : "background")","at":\#(at),"session":1}"#)
            case .dropped: ("presence", #"{"epoch":"d\#(number)","phase":"foreground","dropped":[\#(Self.ranges)]}"#)
            case .pending:
                (
                    "presence",
                    #"{"epoch":"pending","phase":"foreground","seq":1,"pending":{"#
                        + (0..<16).map { #""p\#(16 * number + $0)":[[1,9]]"# }.joined(separator: ",") + "}}"
                )
            case .estimates:
                (
                    "presence",
                    #"{"epoch":"clock","phase":"foreground","at":\#(at),"clock":{"synchronised":true,"points":["#
                        + (0..<16).map { Self.estimate(at + Int64($0)) }.joined(separator: ",") + "]}}"
                )
            case .sessions: ("presence", #"{"phase":"foreground","at":\#(at),"session":\#(at + 864_000_000_000)}"#)
            }
        return MQTTMessage(topic: "lockstep/lab/evil/" + channel, payload: Array(text.utf8))
    }

    private static let ranges = (0..<100).map { "[\(3 * $0 + 1),\(3 * $0 + 2)]" }.joined(separator: ",")

    private static func estimate(_ time: Int64) -> String {
        #"{"collector":"main","t":\#(time),"segment":\#(time),"offset":1,"skew":1,"bound":1,"skew_bound":1}"#
    }
}
