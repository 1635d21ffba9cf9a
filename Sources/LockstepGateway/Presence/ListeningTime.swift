/// The time in which a gateway can hear senders, in µs: that of the boot clock without the breaks in which the gateway did
/// not run. The boot clock also runs while the machine is suspended.
struct ListeningTime {
    /// The interval between two checks above which there was a break: the gateway was stopped, the machine was suspended,
    /// or a write to the disk took long. Messages of that time may be lost, or may not be read yet.
    static let maxGap: Int64 = 10_000_000

    /// The time since which senders could be heard without a break.
    private(set) var since: Int64 = 0
    private var breaks: Int64 = 0
    private var checkedAt: Int64?

    /// Returns the time at a time of the boot clock.
    func time(at boot: Int64) -> Int64 { boot - breaks }

    /// Gives senders time to come back, after a connection or when their messages could not be kept.
    mutating func begin(at boot: Int64) { since = time(at: boot) }

    /// Notices a break since the previous check.
    mutating func check(at boot: Int64) {
        if let checkedAt, boot - checkedAt > Self.maxGap {
            breaks += boot - checkedAt
            begin(at: boot)
        }
        checkedAt = boot
    }
}
