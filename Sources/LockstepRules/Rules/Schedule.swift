public import LockstepModel

/// The days and hours in which notifications are allowed.
public struct Schedule: Sendable, Hashable {
    /// The days of the week on which a span starts, 0 for Monday; empty for all.
    public var days: Set<Int>
    /// The start of the span, in minutes after midnight.
    public var start: Int
    /// The end (exclusive), in minutes after midnight. A span whose end is not after its start ends on the next day.
    public var end: Int
    /// The time zone.
    public var zone: TimeZoneRules

    /// Creates a schedule.
    public init(days: Set<Int> = [], start: Int = 0, end: Int = 1440, zone: TimeZoneRules = .utc) {
        self.days = days
        self.start = start
        self.end = end
        self.zone = zone
    }

    /// Returns whether a time is in the schedule.
    public func contains(_ time: Timestamp) -> Bool {
        let local = zone.local(time)
        let (day, minute) = (local.day, local.minute)
        if start < end { return minute >= start && minute < end && isAllowed(day) }
        if minute >= start { return isAllowed(day) }
        return minute < end && isAllowed(day - 1)
    }

    private func isAllowed(_ day: Int64) -> Bool {
        // 1970-01-01 was a Thursday.
        days.isEmpty || days.contains(Int(((day + 3) % 7 + 7) % 7))
    }
}

/// The offsets of a time zone from UTC.
public struct TimeZoneRules: Sendable, Hashable {
    /// Universal time.
    public static let utc = TimeZoneRules(name: "UTC", transitions: [], offsets: [0])

    /// The name, such as `Europe/Berlin`.
    public let name: String
    /// The times at which the offset changes, in s since 1970.
    let transitions: [Int64]
    /// The offsets in s: the first before all transitions, then one after each.
    let offsets: [Int64]
    /// The rule from the last transition on, or nil if the last offset stays.
    let footer: PosixTimeZone?

    init(name: String, transitions: [Int64], offsets: [Int64], footer: PosixTimeZone? = nil) {
        self.name = name
        self.transitions = transitions
        self.offsets = offsets
        self.footer = footer
    }

    /// Reads a compiled time zone (RFC 9636), such as `/usr/share/zoneinfo/Europe/Berlin`; nil if it is not valid.
    public init?(name: String, file bytes: [UInt8]) {
        func number(_ at: Int, _ size: Int) -> Int64 {
            let raw = bytes[at..<at + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return size == 4 ? Int64(Int32(truncatingIfNeeded: raw)) : Int64(bitPattern: raw)
        }
        func header(_ at: Int) -> (utc: Int, std: Int, leap: Int, time: Int, type: Int, chars: Int)? {
            guard bytes.count >= at + 44, bytes[at..<at + 4].elementsEqual("TZif".utf8) else { return nil }
            let fields = (0..<6).map { Int(number(at + 20 + 4 * $0, 4)) }
            guard fields.allSatisfy({ (0...1_000_000).contains($0) }) else { return nil }
            return (fields[0], fields[1], fields[2], fields[3], fields[4], fields[5])
        }
        guard let first = header(0), bytes[4] >= UInt8(ascii: "2") else { return nil }
        // The first block has times of 32 bits, for old programs. The second one has 64 bits.
        let second = 44 + first.time * 5 + first.type * 6 + first.chars + first.leap * 8 + first.std + first.utc
        guard let counts = header(second), counts.type > 0 else { return nil }
        let times = second + 44
        let kinds = times + counts.time * 8
        let types = kinds + counts.time
        guard bytes.count >= types + counts.type * 6 else { return nil }
        let offset = (0..<counts.type).map { number(types + 6 * $0, 4) }
        var offsets = [offset[0]]
        for index in 0..<counts.time {
            let kind = Int(bytes[kinds + index])
            guard kind < offset.count else { return nil }
            offsets.append(offset[kind])
        }
        let end = types + counts.type * 6 + counts.chars + counts.leap * 12 + counts.std + counts.utc
        guard let text = Self.footer(bytes.dropFirst(end)) else { return nil }
        let footer = PosixTimeZone(text)
        guard footer != nil || text.isEmpty else { return nil }
        self.init(
            name: name, transitions: (0..<counts.time).map { number(times + 8 * $0, 8) }, offsets: offsets,
            footer: footer)
    }

    /// Returns the text between the two line ends at the end of a file; nil without them.
    private static func footer(_ bytes: ArraySlice<UInt8>) -> String? {
        guard bytes.first == UInt8(ascii: "\n"), let end = bytes.dropFirst().firstIndex(of: UInt8(ascii: "\n")) else {
            return nil
        }
        return String(decoding: bytes[bytes.startIndex + 1..<end], as: UTF8.self)
    }

    /// Returns the offset from UTC in s at a time in s since 1970.
    func offset(at seconds: Int64) -> Int64 {
        let index = transitions.partitioningIndex { $0 > seconds }
        guard index == transitions.count, let footer else { return offsets[index] }
        return footer.offset(at: seconds)
    }

    /// Returns the local day, counted from 1970-01-01, and the minute of that day.
    func local(_ time: Timestamp) -> (day: Int64, minute: Int) {
        let seconds = Int64((Double(time.microseconds) / 1e6).rounded(.down))
        let local = seconds + offset(at: seconds)
        let day = Int64((Double(local) / 86_400).rounded(.down))
        return (day, Int(local - day * 86_400) / 60)
    }
}

extension [Int64] {
    /// Returns the first index whose element fulfils a condition that holds for all later ones, or the end index.
    fileprivate func partitioningIndex(where condition: (Int64) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
