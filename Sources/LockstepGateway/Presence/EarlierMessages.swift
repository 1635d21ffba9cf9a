import LockstepModel

/// The messages that senders sent to earlier runs of the gateway.
enum EarlierMessages {
    /// Returns the times from which the silence of senders is counted when the gateway starts, in µs of the boot clock.
    ///
    /// The time in which the gateway did not run is left out, because nobody could be heard. It begins with the last message
    /// of any sender. All results are before the start, whatever the wall clock showed when the times were saved.
    /// - Parameters:
    ///   - saved: the time of the last message of each sender; nil if it is unknown.
    ///   - wall: the time of the start.
    ///   - boot: the time of the start, in µs of the boot clock.
    static func times(_ saved: [Timestamp?], startingAt wall: Timestamp, boot: Int64) -> [Int64] {
        // A time in the future is from before the clock was set back. It says nothing about the others.
        let last = saved.compactMap { $0 }.filter { $0 <= wall }.max()
        return saved.map { time in
            guard let time, let last else { return boot - 1 }
            return boot - 1 - max(0, last - time)
        }
    }
}
