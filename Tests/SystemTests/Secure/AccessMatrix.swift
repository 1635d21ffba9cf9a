/// What each user of a broker with access rules may publish, and topics of every shape to try.
struct AccessMatrix {
    /// The channels that this user may publish, of every device or of its own.
    let channels: Set<String>
    /// Topics of another shape, or of other systems, that this user may publish.
    var others: Set<String> = []
    /// The only device whose channels the user may publish, as `GROUP/DEVICE`; nil for every device.
    var device: String?

    /// The users of the shipped access rules, with `lab/arm-left` as the device and `alice` as the phone.
    static let users: [String: AccessMatrix] = [
        "lab/arm-left": AccessMatrix(
            channels: samples.union(["presence", "command/reply", "clock/ping"]),
            others: [
                "owntracks/lab/arm-left", "owntracks/lab/arm-left/phone", "sensor-logger/lab/arm-left",
                "senml/lab/arm-left",
            ],
            device: "lab/arm-left"),
        "reader": AccessMatrix(channels: []),
        "operator": AccessMatrix(
            channels: ["command", "event/acknowledge", "forget", "delete"],
            others: [
                "lockstep/lab/$collector/main", "lockstep/lab/$gateway/main",
                "lockstep/lab/$collector/main/event/acknowledge", "lockstep/lab/$session/walk/start",
                "lockstep/lab/$session/walk/mark",
            ]),
        "serve": AccessMatrix(
            channels: ["command", "event/acknowledge", "forget", "delete"],
            others: [
                "lockstep/lab/$collector/main/event/acknowledge", "lockstep/lab/$session/walk/start",
                "lockstep/lab/$session/walk/mark",
            ]),
        "collector": AccessMatrix(
            channels: [
                "state", "ack", "event", "event/acknowledged", "clock/pong", "presence", "forgotten", "command",
            ],
            others: [
                "lockstep/lab/$collector/main", "lockstep/lab/$collector/main/event",
                "lockstep/lab/$collector/main/event/acknowledged", "lockstep-collectors/plant/member/one",
                "lockstep/lab/$session/walk",
            ]),
        "gateway": AccessMatrix(
            channels: samples.union(["presence"]),
            others: [
                "lockstep/lab/$gateway/main", "homeassistant/device/walker/config", "lockstep-ha/walker",
                "spBv1.0/STATE/lockstep", "spBv1.0/plant/NCMD/line", "spBv1.0/lockstep/NBIRTH/gateway",
                "spBv1.0/lockstep/DDATA/gateway/a:b",
            ]),
        "homeassistant": AccessMatrix(channels: [], others: ["homeassistant/status"]),
        "alice": AccessMatrix(
            channels: [],
            others: [
                "owntracks/alice", "owntracks/alice/phone", "owntracks/alice/phone/event", "sensor-logger/alice",
                "senml/alice",
            ]),
    ]

    /// The channels of samples.
    private static let samples: Set<String> = [
        "motion/accelerometer", "motion/state", "steps", "location", "orientation", "floors", "activity", "pressure",
        "altitude", "heading", "battery", "x/air", "x/air/quality", "x/steps", "x/motion/accelerometer",
    ]
    private static let derived: Set<String> = [
        "presence", "state", "ack", "command", "command/reply", "clock/ping", "clock/pong", "event",
        "event/acknowledge", "event/acknowledged", "forget", "forgotten", "delete",
    ]

    /// The channels of all devices that are tried: those of the user, of another one, and of devices with the names of
    /// channels in a group with the name of the user.
    private static func deviceTopics(_ user: String) -> [(device: String, channel: String)] {
        let devices =
            ["lab/arm-left", "lab/ant", "other/arm-left"]
            + (user.contains("/") ? [] : ["x", "motion", "command", "clock"].map { user + "/" + $0 })
        return devices.flatMap { device in samples.union(derived).map { (device, $0) } }
    }

    private static func otherTopics(_ user: String) -> Set<String> {
        users.values.reduce(into: Set<String>()) { $0.formUnion($1.others) }
            .union(samples.union(derived).map { "lockstep/\(user)/" + $0 })
            .union(["owntracks/", "sensor-logger/", "senml/"].map { $0 + user })
            .union([
                "lockstep", "lockstep/lab", "lockstep/lab/arm-left/motion/a/b", "steps", "elsewhere/lab/arm-left/steps",
                "owntracks/\(user)/phone",
                "owntracks/bob/phone",
                "sensor-logger", "senml/bob", "spBv1.0/plant/NDATA/line", "spBv1.0/plant/DCMD/line/oven",
                "spBv1.0/STATE/other",
            ])
    }

    /// Returns the topics to try as `user`.
    static func topics(_ user: String) -> Set<String> {
        otherTopics(user).union(deviceTopics(user).map { "lockstep/\($0.device)/\($0.channel)" })
    }

    /// Returns those of the topics that `user` may publish.
    static func allowed(_ user: String) -> Set<String> {
        guard let rights = users[user] else { return [] }
        let own = deviceTopics(user).filter { device, channel in
            rights.channels.contains(channel) && rights.device ?? device == device
        }
        return rights.others.union(own.map { "lockstep/\($0.device)/\($0.channel)" })
    }
}
