import LockstepModel

/// The metrics of one node or device since its last birth message, and the values of its streams.
struct SparkplugSource {
    private struct Member {
        let name: String
        let kind: SparkplugKind?
        /// The column; nil for a metric that is ignored.
        let target: SparkplugTarget?
        /// The index of the column in the timeline of its stream.
        var column = 0
    }

    private let targets: SparkplugTargets
    private var members: [Member] = []
    private var indexes: [String: Int] = [:]
    private var aliases: [UInt64: Int] = [:]
    /// The values by the names of their streams. A stream has few columns, however many metrics there are.
    private var timelines: [String: SparkplugTimeline] = [:]

    var count: Int { members.count }
    /// The number of metrics that have a column.
    var mappedCount: Int { members.count { $0.target != nil } }
    /// Whether samples wait for other values of their time.
    var isWaiting: Bool { timelines.values.contains(where: \.isWaiting) }

    /// Creates a source from the metrics of its birth message.
    /// - Parameter earlier: the source before the birth message, whose values a birth message repeats.
    init(_ birth: [SparkplugMetric] = [], targets: SparkplugTargets, earlier: SparkplugSource? = nil) {
        self.targets = targets
        for metric in birth {
            guard let name = metric.name, indexes[name] == nil else { continue }
            if let alias = metric.alias { aliases[alias] = members.count }
            indexes[name] = members.count
            var member = Member(name: name, kind: metric.kind, target: targets.target(of: name))
            if let target = member.target {
                member.column = timelines[target.stream, default: SparkplugTimeline(target.stream)].add(
                    target.column, isRequired: targets.column(of: target)?.column.isRequired ?? false,
                    earlier: earlier?.timelines[target.stream])
            }
            members.append(member)
        }
    }

    /// Returns the source before a new birth message: without metrics, but with the values.
    func withoutMembers() -> SparkplugSource {
        var result = SparkplugSource(targets: targets)
        result.timelines = timelines
        return result
    }

    /// What a message has shown.
    struct Content {
        var hasValues = false
        /// The metrics that were left out.
        var omissions: [String] = []
        /// Whether a metric is not in the last birth message.
        var needsBirth = false
    }

    /// Records the values of a message. ``release(at:all:)`` returns their samples.
    /// - Parameters:
    ///   - isBirth: whether it is the birth message of this source.
    ///   - maxFuture: the maximum time that a value may be in the future, in µs.
    mutating func read(
        _ payload: SparkplugPayload, isBirth: Bool = false, at moment: Moment, maxFuture: Int64 = .max / 2
    ) -> Content {
        var content = Content()
        var values: [(stream: String, value: SparkplugTimeline.Value)] = []
        let writtenAt = payload.time.flatMap { try? TimeUnit.milliseconds.microseconds(of: .integer($0)) }
        // A node whose own clock is in the future is judged together with other senders.
        let latest = max(moment.wall.microseconds, writtenAt ?? 0) + maxFuture
        for metric in payload.metrics {
            guard let index = member(of: metric) else {
                content.needsBirth = true
                content.omissions.append("the metric \(Self.label(metric)) is not in the last birth message")
                continue
            }
            let member = members[index]
            guard let target = member.target else { continue }
            let milliseconds = metric.time ?? payload.time ?? moment.wall.microseconds / 1000
            let time: Int64
            do { time = try TimeUnit.milliseconds.microseconds(of: .integer(milliseconds)) } catch {
                content.omissions.append(error.text("the time of the metric '\(member.name.prefix(100))'"))
                continue
            }
            guard time > 0, time <= latest else {
                content.omissions.append("the time of the metric '\(member.name.prefix(100))' is out of range")
                continue
            }
            var value = SparkplugTimeline.Value(
                column: member.column, time: time, value: nil, isHistorical: metric.isHistorical, writtenAt: writtenAt)
            // An invalid value is unknown from then on. A column that cannot be null keeps its last value, so that the others
            // are stored.
            let isRequired = targets.column(of: target)?.column.isRequired
            do throws(Refusal) { value.value = try self.value(of: metric, member) } catch {
                content.omissions.append(error.description)
                if isRequired != false { continue }
            }
            if value.value == nil, isRequired == true {
                // In a birth, it has no value yet.
                if !isBirth {
                    content.omissions.append(
                        "the metric '\(member.name.prefix(100))' is null, which its column cannot be")
                }
                continue
            }
            values.append((target.stream, value))
        }
        content.hasValues = !values.isEmpty
        // Of equal times, the order of the message decides.
        values = values.enumerated().sorted { ($0.element.value.time, $0.offset) < ($1.element.value.time, $1.offset) }
            .map(\.element)
        if isBirth {
            for (stream, values) in Dictionary(grouping: values, by: \.stream) {
                timelines[stream]?.add(birth: values.map(\.value), at: moment.boot)
            }
        } else {
            for (stream, value) in values { timelines[stream]?.add(value, at: moment.boot) }
        }
        return content
    }

    /// Removes and returns the samples that wait no longer, the oldest first.
    /// - Parameter all: whether no sample waits any longer.
    mutating func release(at boot: Int64, all: Bool = false) -> [SparkplugTimeline.Row] {
        timelines.keys.sorted().flatMap { timelines[$0]?.release(at: boot, all: all) ?? [] }
            .sorted { $0.reading.time < $1.reading.time }
    }

    /// Forgets all values, because they may not be stored.
    mutating func removeValues() {
        for stream in timelines.keys { timelines[stream]?.removeAll() }
    }

    private func member(of metric: SparkplugMetric) -> Int? {
        metric.name.flatMap { indexes[$0] } ?? metric.alias.flatMap { aliases[$0] }
    }

    private func value(of metric: SparkplugMetric, _ member: Member) throws(Refusal) -> Reading.Value? {
        guard let raw = metric.value, let target = member.target else { return nil }
        guard let kind = metric.kind ?? member.kind else {
            throw Refusal(.malformed, "the metric '\(member.name.prefix(100))' has no data type")
        }
        let reading: Reading.Value
        switch kind.value(of: raw) {
        case .number(let number): reading = target.reading(.number(number))
        case .text(let text): reading = .word(text)
        case nil:
            throw Refusal(
                .malformed,
                kind.isReadable
                    ? "the value of the metric '\(member.name.prefix(100))' is not of its type \(kind)"
                    : "the metric '\(member.name.prefix(100))' has the type \(kind), which is no single number or text")
        }
        if let (stream, column) = targets.column(of: target) {
            do throws(Refusal) { _ = try SampleFitter.number(reading, column, of: stream) } catch {
                throw Refusal(.malformed, "the metric '\(member.name.prefix(100))' is left out: \(error)")
            }
        }
        return reading
    }

    private static func label(_ metric: SparkplugMetric) -> String {
        metric.name.map { "'\($0.prefix(100))'" } ?? metric.alias.map { "with the alias \($0)" } ?? "without a name"
    }
}
