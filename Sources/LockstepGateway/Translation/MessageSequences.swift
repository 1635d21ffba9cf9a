import LockstepModel

/// The number that a sender gave to a message.
public struct MessageNumber: Sendable, Hashable {
    /// The session in which the numbers increase by one.
    public var session: String
    /// The number.
    public var number: Int64

    /// Creates a number.
    public init(session: String, number: Int64) {
        self.session = session
        self.number = number
    }
}

/// Detects lost and repeated messages of senders that number their messages.
struct MessageSequences {
    /// The maximum number of senders whose numbers are remembered.
    static let maxSenders = 10_000
    /// The maximum number of gaps that are remembered of a sender. Messages that fill older ones count as repeated.
    static let maxGaps = 1000

    /// What a number shows.
    enum Finding: Equatable {
        /// Messages before this one have not arrived. They may arrive later.
        case missing(Int64)
        /// A message with this number has arrived before.
        case repeated
    }

    private struct Sequence {
        let session: String
        var received: SequenceSet
    }

    private var sequences: [ForeignName: Sequence] = [:]

    /// Returns whether no message of the same session had a higher number.
    func isNewest(_ number: MessageNumber, of sender: ForeignName) -> Bool {
        guard let sequence = sequences[sender], sequence.session == number.session else { return true }
        return sequence.received.last.map { number.number >= $0 } ?? true
    }

    /// Records a number.
    /// - Returns: what it shows, or nil if it follows the previous one or fills a gap.
    mutating func note(_ number: MessageNumber, of sender: ForeignName) -> Finding? {
        let shifted = number.number
        guard (0..<1 << 53).contains(shifted) else { return nil }
        guard var sequence = sequences[sender], sequence.session == number.session else {
            guard sequences[sender] != nil || sequences.count < Self.maxSenders else { return nil }
            sequences[sender] = Sequence(
                session: number.session, received: SequenceSet(CollectionOfOne(shifted...shifted)))
            return nil
        }
        guard !sequence.received.contains(shifted) else { return .repeated }
        let last = sequence.received.last ?? shifted
        sequence.received.insert(shifted)
        if sequence.received.ranges.count > Self.maxGaps, let first = sequence.received.first {
            sequence.received.insert(first...sequence.received.ranges[1].upperBound)
        }
        sequences[sender] = sequence
        return shifted > last + 1 ? .missing(shifted - last - 1) : nil
    }
}
