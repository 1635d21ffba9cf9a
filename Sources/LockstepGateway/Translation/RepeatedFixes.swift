import LockstepModel

/// Decides the times of messages that tell no other time than that of their fix: see ``ForeignReport/timeOfFix``.
///
/// The first message of a fix has the time of the fix, and the others have their times of arrival. A message that is sent
/// again, because its sender got no acknowledgement, must get the time of the first time, so that it is stored once. Only its
/// content can show that, and only for a while: later, an equal message is a new one with the same values.
struct RepeatedFixes: Sendable {
    /// The maximum number of senders that are remembered. The messages of others have the times of their fixes.
    static let maxSenders = 10_000
    /// The maximum number of messages that are remembered of a sender. More than brokers usually send without acknowledgement.
    static let maxMessages = 32

    /// The time in which an equal message counts as sent again, in µs.
    static let period: Int64 = 600_000_000

    private struct Message {
        /// The hash of the readings before they were moved, which is much smaller than they are.
        let hash: Int
        /// The time of arrival to which the readings were moved, or nil.
        let arrival: Timestamp?
        let receivedAt: Timestamp

        func isRepeated(by hash: Int, at now: Timestamp) -> Bool {
            self.hash == hash && abs(now - receivedAt) < RepeatedFixes.period
        }
    }

    private struct Sender {
        /// The last fix.
        var time: Int64
        /// The last messages, also of earlier fixes: several fixes may be sent again together.
        var messages: [Message] = []
    }

    private var senders: [ForeignName: Sender] = [:]

    /// Returns the time of arrival to which the readings of a report belong, or nil if they stay as they are.
    func arrival(of report: ForeignReport, isRetained: Bool, at now: Timestamp) -> Timestamp? {
        guard let time = report.timeOfFix, let sender = senders[report.sender] else { return nil }
        let hash = report.readings.hashValue
        if let earlier = sender.messages.first(where: { $0.isRepeated(by: hash, at: now) }) { return earlier.arrival }
        return time == sender.time && !isRetained ? now : nil
    }

    /// Records an accepted report.
    /// - Parameters:
    ///   - report: the report as it was translated.
    ///   - arrival: the result of ``arrival(of:isRetained:at:)``.
    mutating func note(_ report: ForeignReport, movedTo arrival: Timestamp?, at now: Timestamp) {
        guard let time = report.timeOfFix else { return }
        let known = senders[report.sender]
        guard known != nil || senders.count < Self.maxSenders else { return }
        var sender = known ?? Sender(time: time)
        let hash = report.readings.hashValue
        guard !sender.messages.contains(where: { $0.isRepeated(by: hash, at: now) }) else { return }
        sender.time = time
        sender.messages =
            sender.messages.filter { $0.hash != hash }.suffix(Self.maxMessages - 1)
            + [Message(hash: hash, arrival: arrival, receivedAt: now)]
        senders[report.sender] = sender
    }
}
