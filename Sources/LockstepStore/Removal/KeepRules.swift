public import LockstepModel

/// Which streams of which devices a line of the settings is about: `STREAM`, or `GROUP/DEVICE/STREAM`.
///
/// Each of the three may be `*`, and a stream may end in `/*`: `motion/*`, `lab/*/location`, `*/left/*`.
public struct StreamPattern: Hashable, Sendable, CustomStringConvertible {
    private let group: String?
    private let device: String?
    /// The name of the stream, or what precedes `*`; nil for all streams.
    private let stream: String?
    private let isPrefix: Bool
    public let description: String

    /// Parses a pattern.
    /// - Throws: ``KeepRuleError`` for a text that selects no stream.
    public init(_ text: String, streams: [String] = StreamCatalog.builtIn.streams.map(\.name)) throws(KeepRuleError) {
        let levels = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard levels.allSatisfy({ !$0.isEmpty && ($0 == "*" || !$0.contains("*")) }) else {
            throw KeepRuleError("'\(text)' is not a pattern: use STREAM or GROUP/DEVICE/STREAM, each perhaps *")
        }
        // The first levels of streams are few: motion and x.
        let isStream = levels.count < 3 || streams.contains { $0.hasPrefix(levels[0] + "/") } || levels[0] == "x"
        let name = isStream ? levels[...] : levels[2...]
        guard name.dropLast().allSatisfy({ $0 != "*" }) else {
            throw KeepRuleError("'\(text)': the stream may only end in *, as in motion/*")
        }
        isPrefix = name.last == "*"
        let stream = (isPrefix ? name.dropLast() + [""] : name).joined(separator: "/")
        let isPrefix = isPrefix
        guard
            stream.isEmpty || stream.hasPrefix("x/")
                || streams.contains(where: { isPrefix ? $0.hasPrefix(stream) : $0 == stream })
        else {
            throw KeepRuleError(
                "'\(text)' selects no stream: the streams are \(streams.joined(separator: ", ")); for a device use "
                    + "GROUP/DEVICE/STREAM")
        }
        self.stream = stream.isEmpty ? nil : stream
        group = isStream || levels[0] == "*" ? nil : levels[0]
        device = isStream || levels[1] == "*" ? nil : levels[1]
        description = text
    }

    /// Whether it is about some devices only.
    public var isByDevice: Bool { group != nil || device != nil }

    /// Returns whether it selects a stream, apart from the device.
    public func selects(_ name: String) -> Bool {
        stream.map { isPrefix ? name.hasPrefix($0) : name == $0 } ?? true
    }

    /// Returns whether it selects a stream of a device.
    func selects(_ name: String, of address: DeviceAddress) -> Bool {
        selects(name) && (group ?? address.group.rawValue) == address.group.rawValue
            && (device ?? address.device.rawValue) == address.device.rawValue
    }

    /// A named device counts more than a named group, which counts more than a named stream, and that more than a part of it.
    var rank: Int { (device == nil ? 0 : 8) + (group == nil ? 0 : 4) + (stream == nil ? 0 : isPrefix ? 1 : 2) }
}

/// How long the samples of each stream are kept. The most specific rule counts; without one, samples are kept forever.
public struct KeepRules: Hashable, Sendable {
    /// The time from which rules apply, in µs since 1970: early in 2020. Samples from before it are of devices whose clock was not
    /// set, and may be new.
    public static let earliest: Int64 = 1_577_847_600_000_000
    /// The least age, in µs.
    public static let minAge: Int64 = 3_600_000_000

    /// The rules, the most specific one first; an age of nil means forever.
    private let rules: [Rule]

    private struct Rule: Hashable {
        let pattern: StreamPattern
        let age: Int64?
    }

    /// Creates rules.
    /// - Parameter rules: ages in µs, nil for samples that are kept forever.
    /// - Throws: ``KeepRuleError`` if two rules have the same pattern.
    public init(_ rules: [(pattern: StreamPattern, age: Int64?)]) throws(KeepRuleError) {
        for (index, rule) in rules.enumerated() where rules[..<index].contains(where: { $0.pattern == rule.pattern }) {
            throw KeepRuleError("there are two rules for '\(rule.pattern)'")
        }
        self.rules = rules.map { Rule(pattern: $0.pattern, age: $0.age) }
            .sorted { ($1.pattern.rank, $0.pattern.description) < ($0.pattern.rank, $1.pattern.description) }
    }

    /// Rules that keep everything.
    public static let everything = KeepRules()

    private init() { rules = [] }

    /// Whether the rules are the same for all devices.
    package var areForAllDevices: Bool { !rules.contains { $0.pattern.isByDevice } }

    /// Whether all samples are kept forever.
    public var keepsEverything: Bool { rules.allSatisfy { $0.age == nil } }

    /// The rules as texts of patterns, with their ages in µs, the most specific one first.
    var texts: [(pattern: String, age: Int64?)] { rules.map { ($0.pattern.description, $0.age) } }

    /// Whether there is no rule.
    package var isEmpty: Bool { rules.isEmpty }

    /// Returns whether a rule is about a stream of a device.
    public func hasRule(for stream: String, _ device: DeviceAddress) -> Bool {
        rules.contains { $0.pattern.selects(stream, of: device) }
    }

    /// Returns the age in µs from which samples of a stream of a device leave, or nil if they are kept.
    public func age(of stream: String, _ device: DeviceAddress) -> Int64? {
        rules.first { $0.pattern.selects(stream, of: device) }.flatMap(\.age)
    }

    /// The steps in which the limit of an age moves, so that what leaves fills pages: at most a sixteenth of the age.
    static func step(ofAge age: Int64) -> Int64 {
        let hour: Int64 = 3_600_000_000
        let steps = [24 * hour, 6 * hour, hour, hour / 12, hour / 60]
        return steps.first { $0 <= age / 16 } ?? 1_000_000
    }

    /// Returns the time before which samples of an age leave, in µs since 1970.
    public static func limit(ofAge age: Int64, at now: Int64) -> Int64 {
        let (time, step) = (now - age, step(ofAge: age))
        return time - (time % step + step) % step
    }

    /// Returns whether a sample has left, or arrives too late.
    /// - Parameters:
    ///   - limit: the time before which samples of its series have left.
    ///   - held: the ranges in which they stay.
    package static func isExpired(_ time: Int64, before limit: Int64, held: [Range<Int64>]) -> Bool {
        time < limit && time >= earliest && !held.contains { $0.contains(time) }
    }

    /// Returns the time on which two clocks agree, in µs since 1970, or nil if there is no sample: the second latest of the
    /// collector's clock and the newest samples of the devices, but not later than the collector's clock. So no single clock
    /// that is ahead makes samples leave, and devices that have stopped do not keep those of the others.
    public static func now(collector: Int64, newest: some Sequence<Int64>) -> Int64? {
        let times = (Array(newest) + [collector]).max(count: 2)
        return times.count == 2 ? min(collector, times[1]) : nil
    }
}

extension Sequence<Int64> {
    /// Returns the greatest numbers, in descending order.
    fileprivate func max(count: Int) -> [Int64] {
        var greatest: [Int64] = []
        for number in self where greatest.count < count || number > greatest[greatest.count - 1] {
            greatest.insert(number, at: greatest.firstIndex { $0 < number } ?? greatest.count)
            if greatest.count > count { greatest.removeLast() }
        }
        return greatest
    }
}

/// An error in a rule of retention, or in the order of streams.
public struct KeepRuleError: Error, Hashable, CustomStringConvertible {
    /// What is wrong, and what is allowed.
    public let description: String

    init(_ description: String) { self.description = description }
}
