import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepWire

/// The settings of `lockstep-agent` without a heading in its help.
struct AgentSettings: SettingGroup {
    let group = Setting("group", "Group of this device (default: default).") { try GroupID(validating: $0) }
    let device = Setting("device", "Id of this device (default: the host name).") { try DeviceID(validating: $0) }
    let root = Setting("root", "Topic prefix (default: lockstep).") { try TopicRoot($0) }
    let outbox = Setting(
        "outbox",
        "Outbox: the file with unacknowledged samples (default: ~/.local/state/lockstep/GROUP-DEVICE.outbox).")
    let outboxSize = Setting(
        "outbox-size",
        "Maximum size of the outbox in bytes; above it, the oldest samples are dropped (default: 256M)."
    ) { Int64(try byteCount($0)) }
    let outboxAge = Setting(
        "outbox-age", "Maximum age of samples in the outbox; older samples are dropped (default: 7d).", parseDuration)
    let ack = Setting(
        "ack",
        """
        Program whose acknowledgement removes samples from the outbox: collector, or broker for a system without a \
        collector (default: collector).
        """
    ) { try choice($0, of: AgentConfiguration.AcknowledgedBy.self) }
    let window = Setting(
        "window", "Time for which samples are collected in one message (default: 1s).", parseDuration)
    let batch = Setting("batch", "Maximum number of samples in a message (default: 1000).") {
        try wholeNumber($0, in: 1...10_000)
    }
    let encoding = Setting(
        "encoding",
        """
        Encoding of samples: json, which is human-readable, or cbor, which takes less than a quarter of the size \
        (default: json).
        """
    ) { try choice($0, of: BatchEncoding.self) }
    let backlogRate = Setting(
        "backlog-rate",
        """
        Maximum rate of backlog in bytes per second, in addition to the live data (default: 256K). Backlog is data \
        that is sent late or again.
        """, byteCount)
    let heartbeat = Setting(
        "heartbeat", "Interval between presence messages while nothing changes (default: 30s).", parseDuration)
    let journal = Setting.flag(
        "journal", "Keep acknowledged samples in the outbox too, for 'lockstep verify --journal'.")
}
