/// The time since which a gateway has been able to hear senders without a break. All times are in µs of the boot clock,
/// which also runs while the machine is suspended.
struct ListeningTime {
    /// The interval between two checks above which the gateway was not running: it was stopped, the machine was suspended,
    /// or a write to the disk took long. Messages of that time may be lost, or may not be read yet.
    static let maximumGap: Int64 = 10_000_000

    /// The start of the time.
    private(set) var since: Int64 = 0
    private var checkedAt: Int64?

    /// Begins the time anew, after a connection or when messages of senders could not be kept.
    mutating func begin(at boot: Int64) { since = max(since, boot) }

    /// Begins the time anew if the previous check is too long ago.
    mutating func check(at boot: Int64) {
        if let checkedAt, boot - checkedAt > Self.maximumGap { begin(at: boot) }
        checkedAt = boot
    }
}
