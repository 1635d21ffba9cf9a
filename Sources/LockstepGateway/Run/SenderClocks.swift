import LockstepModel

/// What the clocks of senders show of the clock of the gateway.
///
/// For a gateway whose own clock is behind, such as one that starts in 1970 until NTP sets it, the present is in the
/// future. Only the clocks of several senders show which clock is wrong.
struct SenderClocks {
    /// The difference up to which two clocks agree, in µs.
    static let tolerance: Int64 = 60_000_000

    private struct Sight {
        let isAhead: Bool
        let at: Timestamp
    }

    /// The difference from which a clock is ahead, in µs. It is also the age from which a sight says nothing any more.
    let maxFuture: Int64
    /// The last sight of each clock that agrees with the gateway's or is ahead of it, by the index of the device. Old messages
    /// show neither.
    private var sights: [Int: Sight] = [:]

    init(maxFuture: Int64) { self.maxFuture = maxFuture }

    /// Records when a device wrote a message that has just arrived.
    mutating func note(_ written: Timestamp, of device: Int, at now: Timestamp) {
        let lead = written - now
        let isSight = lead > maxFuture || abs(lead) <= Self.tolerance
        sights[device] = isSight ? Sight(isAhead: lead > maxFuture, at: now) : nil
    }

    /// Returns whether a sample in the future may be right, and the clock of the gateway wrong: unless the sender's own clock
    /// agrees with it, or the clocks of more devices agree than are ahead.
    /// - Parameters:
    ///   - written: the time at which the sender wrote the message.
    ///   - device: the index of the sender's device, or nil for a new one.
    func areInDoubt(by written: Timestamp, of device: Int?, at now: Timestamp) -> Bool {
        guard abs(written - now) > Self.tolerance else { return false }
        var ahead = 1
        var agreeing = 0
        for (other, sight) in sights where other != device && abs(now - sight.at) <= maxFuture {
            if sight.isAhead { ahead += 1 } else { agreeing += 1 }
        }
        return agreeing <= ahead
    }
}
