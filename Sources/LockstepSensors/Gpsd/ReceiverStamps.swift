import LockstepModel

/// The timestamps of samples by the receivers' own clocks (``Stamping/own``), as a value.
///
/// A sample has its receiver's time. If that is not later than the newest timestamp, because the receiver's time has
/// stepped back or another receiver has the same time, a few µs are added: then no two samples have the same time, and
/// one wrong date in the future does not make all later fixes old.
struct ReceiverStamps: Sendable {
    private struct Receiver {
        var last: Timestamp
        /// What is added to times that may have occurred before, in µs.
        var offset: Int64
    }

    /// The number of offsets, after which they repeat: below 1 ms, the resolution of gpsd's times.
    private static let offsets: Int64 = 1000

    private var receivers: [String: Receiver] = [:]
    private var newest: Timestamp?
    private var nextOffset: Int64 = 0

    /// Returns the timestamp of a sample, and by how much the receiver's time has stepped back since its last sample, in
    /// µs; nil if it has not.
    mutating func stamp(_ time: Timestamp, of receiver: String) -> (time: Timestamp, stepBack: Int64?) {
        let last = receivers[receiver]?.last
        let isLater = last.map { time > $0 } ?? false
        if !isLater {
            receivers[receiver] = Receiver(last: time, offset: nextOffset)
            nextOffset = (nextOffset + 1) % Self.offsets
        }
        receivers[receiver]?.last = time
        let stepBack = last.flatMap { time < $0 ? $0 - time : nil }
        guard let newest, time <= newest else {
            newest = time
            return (time, stepBack)
        }
        return (Timestamp(microseconds: time.microseconds + (receivers[receiver]?.offset ?? 0)), stepBack)
    }
}
