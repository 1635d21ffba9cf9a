/// The order of the messages of one node and its devices, by their numbers from 0 to 255.
///
/// A message that comes too early waits for those before it. They count as missing only if they do not arrive in time.
struct SparkplugOrder<Message: Sendable>: Sendable {
    /// The time that a message waits for those before it, in µs.
    static var limit: Int64 { 3_000_000 }
    /// The distance from the last number at which a number is taken for one of the past.
    private static var half: UInt8 { 128 }

    private struct Waiting {
        let message: Message
        let deadline: Int64
    }

    private var last: UInt8?
    private var waiting: [UInt8: Waiting] = [:]
    /// The numbers that count as missing and may still arrive.
    private var missing: Set<UInt8> = []

    var isWaiting: Bool { !waiting.isEmpty }

    /// What a message or the time has shown.
    struct Result {
        /// The messages to handle, in their order.
        var messages: [Message] = []
        /// The number of messages that have not arrived in time.
        var missing = 0
        /// Whether a message is neither new nor one that was missing, so that the numbers have no meaning any more.
        var isLost = false
    }

    mutating func begin(_ number: UInt8?) {
        last = number
        missing = []
    }

    mutating func add(_ message: Message, number: UInt8, at boot: Int64) -> Result {
        guard let last else {
            self.last = number
            return Result(messages: [message])
        }
        // The same number again is a repetition of the message.
        guard number != last else { return Result(messages: [message]) }
        guard missing.remove(number) == nil else { return Result(messages: [message]) }
        // A number of the past may belong to a birth message that comes later.
        if waiting[number] == nil { waiting[number] = Waiting(message: message, deadline: boot + Self.limit) }
        return Result(messages: takeNext())
    }

    /// Returns the messages that have waited long enough, and those after them.
    mutating func expire(at boot: Int64) -> Result {
        var result = Result()
        while waiting.values.contains(where: { $0.deadline <= boot }), let last,
            let next = waiting.keys.min(by: { $0 &- last < $1 &- last })
        {
            let gap = next &- last &- 1
            if gap < Self.half - 1 {
                result.missing += Int(gap)
                missing = missing.filter { last &- $0 < Self.half - gap }
                for offset in 0..<gap { missing.insert(last &+ 1 &+ offset) }
                self.last = next &- 1
                result.messages += takeNext()
            } else {
                result.isLost = true
                result.messages += takeAll()
            }
        }
        return result
    }

    /// Removes and returns all messages that wait, in their order.
    mutating func takeAll() -> [Message] {
        defer { waiting = [:] }
        let last = last ?? 0
        return waiting.sorted { $0.key &- last < $1.key &- last }.map(\.value.message)
    }

    private mutating func takeNext() -> [Message] {
        var messages: [Message] = []
        while let number = last.map({ $0 &+ 1 }), let next = waiting.removeValue(forKey: number) {
            messages.append(next.message)
            last = number
            missing.remove(number &+ Self.half)
        }
        return messages
    }
}
