public import LockstepModel

/// The content of a foreign message in Lockstep's terms. A message can have reports of several senders.
public struct Translation: Sendable, Equatable {
    /// The reports in the order of the message.
    public var reports: [ForeignReport]

    /// Creates a translation. Without reports, the message was valid but has nothing to store.
    public init(_ reports: [ForeignReport] = []) { self.reports = reports }
}

/// The name of a sender in its own format. It is mapped to the address of a device.
public struct ForeignName: Hashable, Sendable, CustomStringConvertible {
    /// The name of the adapter: `owntracks`.
    public let format: String
    /// The parts of the name: for OwnTracks the user and the device.
    public let parts: [String]

    /// Creates a name.
    public init(_ format: String, _ parts: [String]) {
        self.format = format
        self.parts = parts
    }

    /// The name as the settings write it: `owntracks/alice/phone`.
    public var description: String { ([format] + parts).joined(separator: "/") }
}

/// What one message reports about one sender.
public struct ForeignReport: Sendable, Equatable {
    /// The sender.
    public var sender: ForeignName
    /// The time at which the sender wrote the message, or nil if unknown. It decides whether samples are live.
    public var writtenAt: Timestamp?
    /// The samples in the order of the message.
    public var readings: [Reading]
    /// What the message shows about the life cycle of the sender, or nil if it shows nothing.
    public var presence: ForeignPresence?
    /// The parts of the message that were left out because they are invalid.
    public var omissions: [String]
    /// The number of the message, or nil if the sender does not number its messages.
    public var sequence: MessageNumber?
    /// Whether the samples are late, or nil if ``writtenAt`` decides.
    public var isLate: Bool?
    /// Whether ``writtenAt`` is on the clock of the gateway, because the message does not tell it.
    public var hasGatewayTime = false
    /// The time in µs since 1970 of the position, if the message tells no other time, so that all readings have it. A sender
    /// that lies still repeats it: then the others were measured later.
    public var timeOfFix: Int64?
    /// The address that the sender gave itself, or nil if its name decides.
    public var claimed: DeviceAddress?
    /// The parts of accelerations that wait for others, which may be in another message.
    public var accelerationParts: [AccelerationPart] = []
    /// What the sender shares with its friends, or nil if it shares nothing.
    public var shared: FriendMessage?

    /// Creates a report.
    public init(
        sender: ForeignName, writtenAt: Timestamp? = nil, readings: [Reading] = [], presence: ForeignPresence? = nil,
        omissions: [String] = [], sequence: MessageNumber? = nil
    ) {
        self.sender = sender
        self.writtenAt = writtenAt
        self.readings = readings
        self.presence = presence
        self.omissions = omissions
        self.sequence = sequence
    }
}

extension ForeignReport {
    /// Gives the readings that have the time of the position, except for the position itself, a time of arrival.
    mutating func moveFromFix(to arrival: Timestamp) {
        for index in readings.indices where readings[index].time == timeOfFix && readings[index].stream != "location" {
            readings[index].time = arrival.microseconds
        }
        writtenAt = arrival
        hasGatewayTime = true
    }

    /// Replaces the reading of the same stream and time, if there is one.
    mutating func replace(_ reading: Reading) -> Bool {
        guard let index = readings.lastIndex(where: { $0.stream == reading.stream && $0.time == reading.time })
        else { return false }
        readings[index] = reading
        return true
    }
}

/// One sample of a stream, with its columns by name.
public struct Reading: Sendable, Hashable {
    /// A value of a column.
    public enum Value: Sendable, Hashable {
        /// A number in the unit of the column.
        case number(Double)
        /// A word of a column of kind `choice`.
        case word(String)
    }

    /// The name of the stream. Streams that are not in the catalog of the gateway are left out.
    public var stream: String
    /// The time of the sample in µs since 1970.
    public var time: Int64
    /// The known values. Columns that the stream does not have are left out.
    public var values: [(column: String, value: Value)]

    /// Creates a reading.
    public init(_ stream: String, at time: Int64, _ values: [(column: String, value: Value)] = []) {
        self.stream = stream
        self.time = time
        self.values = values
    }

    /// Adds a number. Nil and numbers that are not finite are left out.
    public mutating func set(_ column: String, _ number: Double?) {
        guard let number, number.isFinite else { return }
        values.append((column, .number(number)))
    }

    /// Adds a word. Nil is left out.
    public mutating func set(_ column: String, word: String?) {
        if let word { values.append((column, .word(word))) }
    }

    /// Returns the number of a column, or nil if there is none.
    public func number(_ column: String) -> Double? {
        for case (column, .number(let number)) in values { return number }
        return nil
    }

    /// Returns the word of a column, or nil if there is none.
    public func word(_ column: String) -> String? {
        for case (column, .word(let word)) in values { return word }
        return nil
    }

    /// Returns whether streams, times and values are equal.
    public static func == (left: Reading, right: Reading) -> Bool {
        left.stream == right.stream && left.time == right.time
            && left.values.elementsEqual(right.values) { $0.column == $1.column && $0.value == $1.value }
    }

    /// Adds stream, time and values to a hash.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(stream)
        hasher.combine(time)
        for (column, value) in values {
            hasher.combine(column)
            hasher.combine(value)
        }
    }
}

/// What a message shows about the life cycle of its sender.
public struct ForeignPresence: Sendable, Hashable {
    /// The phase of the sender.
    public var phase: Phase
    /// The cause, in the words of the format.
    public var reason: String
    /// The time of the phase on the clock of the samples, or nil for the time of arrival.
    public var at: Timestamp?

    /// Creates a presence.
    public init(_ phase: Phase, reason: String, at: Timestamp? = nil) {
        self.phase = phase
        self.reason = reason
        self.at = at
    }
}

/// The reason why a message is refused.
public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a refusal, which decides the answer of each protocol.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The message breaks the rules of its format, or is too large.
        case malformed
        /// An encrypted message cannot be decrypted with the key of the sender, or must be encrypted and is not.
        case undecryptable
        /// The sender is unknown, or its name cannot be mapped to a device.
        case unknownSender
        /// The sender would be one device too many. It may be accepted later, when the limit is raised.
        case tooManyDevices
        /// The device of the sender already belongs to another sender.
        case nameTaken
        /// The time of a sample is not plausible.
        case implausibleTime
    }

    /// The kind.
    public let kind: Kind
    /// What is wrong, and what to do.
    public let description: String

    /// Creates a refusal.
    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
