import LockstepModel
import LockstepSparkplug

/// The metrics of one node or device since its last birth message, and their last values.
struct SparkplugSource {
    /// A metric.
    private struct Member {
        let name: String
        let kind: SparkplugKind?
        /// The column; nil for a metric that is ignored.
        let target: SparkplugTarget?
    }

    /// A column of a stream that a metric has.
    private struct Column {
        let name: String
        /// The last value that is not historical; nil if it is null or unknown.
        var last: Reading.Value?
    }

    private var members: [Member] = []
    /// The columns by the names of their streams. A stream has few of them, however many metrics there are.
    private var columns: [String: [Column]] = [:]
    private var indexes: [String: Int] = [:]
    private var aliases: [UInt64: Int] = [:]

    /// The number of metrics.
    var count: Int { members.count }
    /// The number of metrics that have a column.
    var mappedCount: Int { members.count { $0.target != nil } }

    /// Creates a source from the metrics of its birth message.
    init(_ birth: [SparkplugMetric] = [], targets: SparkplugTargets) {
        for metric in birth {
            guard let name = metric.name, indexes[name] == nil else { continue }
            if let alias = metric.alias { aliases[alias] = members.count }
            indexes[name] = members.count
            let target = targets.target(of: name)
            members.append(Member(name: name, kind: metric.kind, target: target))
            guard let target, columns[target.stream]?.contains(where: { $0.name == target.column }) != true else {
                continue
            }
            columns[target.stream, default: []].append(Column(name: target.column))
        }
    }

    /// The samples of a message.
    struct Content {
        /// The samples of current values and of historical ones.
        var current: [Reading] = []
        var historical: [Reading] = []
        /// The metrics that were left out.
        var omissions: [String] = []
        /// Whether a metric is not in the last birth message.
        var needsBirth = false
    }

    /// The samples of one stream and time.
    private struct Group {
        let stream: String
        let time: Int64
        let isHistorical: Bool
        /// At most one value of each column.
        var values: [(column: String, value: Reading.Value?)] = []
    }

    /// Returns the samples of a message, and records its values.
    ///
    /// A node sends a metric only when its value changes. So a sample of current values has the last values of all
    /// other columns of its stream.
    /// - Parameter fallback: the time of metrics without one, in ms since 1970.
    mutating func read(_ metrics: [SparkplugMetric], fallback: Int64) -> Content {
        var content = Content()
        var groups: [Group] = []
        var latest: [GroupKey: Int] = [:]
        for metric in metrics {
            guard let index = member(of: metric) else {
                content.needsBirth = true
                content.omissions.append("the metric \(Self.label(metric)) is not in the last birth message")
                continue
            }
            guard let target = members[index].target else { continue }
            let value: Reading.Value?
            do { value = try self.value(of: metric, member: index) } catch {
                content.omissions.append(error.description)
                continue
            }
            guard let time = ForeignTime.microseconds(milliseconds: metric.time ?? fallback) else {
                content.omissions.append("the time of the metric '\(members[index].name.prefix(100))' is out of range")
                continue
            }
            let key = GroupKey(stream: target.stream, time: time, isHistorical: metric.isHistorical)
            if let number = latest[key], !groups[number].values.contains(where: { $0.column == target.column }) {
                groups[number].values.append((target.column, value))
            } else {
                latest[key] = groups.count
                groups.append(
                    Group(
                        stream: target.stream, time: time, isHistorical: metric.isHistorical,
                        values: [(target.column, value)]))
            }
        }
        // Of equal times, the order of the message decides.
        for group in groups.enumerated().sorted(by: { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }) {
            add(group.element, to: &content)
        }
        return content
    }

    private struct GroupKey: Hashable {
        let stream: String
        let time: Int64
        let isHistorical: Bool
    }

    private mutating func add(_ group: Group, to content: inout Content) {
        var reading = Reading(group.stream, at: group.time)
        if group.isHistorical {
            reading.values = group.values.compactMap { column, value in value.map { (column, $0) } }
            if !reading.values.isEmpty { content.historical.append(reading) }
            return
        }
        for (column, value) in group.values {
            guard let index = columns[group.stream]?.firstIndex(where: { $0.name == column }) else { continue }
            columns[group.stream]?[index].last = value
        }
        reading.values = (columns[group.stream] ?? []).compactMap { column in column.last.map { (column.name, $0) } }
        if !reading.values.isEmpty { content.current.append(reading) }
    }

    private func member(of metric: SparkplugMetric) -> Int? {
        metric.name.flatMap { indexes[$0] } ?? metric.alias.flatMap { aliases[$0] }
    }

    private func value(of metric: SparkplugMetric, member index: Int) throws(Refusal) -> Reading.Value? {
        let member = members[index]
        guard let raw = metric.value else { return nil }
        guard let kind = metric.kind ?? member.kind else {
            throw Refusal(.malformed, "the metric '\(member.name.prefix(100))' has no data type")
        }
        guard let value = kind.value(of: raw) else {
            throw Refusal(
                .malformed,
                kind.isReadable
                    ? "the value of the metric '\(member.name.prefix(100))' is not of its type \(kind)"
                    : "the metric '\(member.name.prefix(100))' has the type \(kind), which is no single number or text")
        }
        switch value {
        case .number(let number): return member.target?.reading(.number(number))
        case .text(let text): return .word(text)
        }
    }

    private static func label(_ metric: SparkplugMetric) -> String {
        metric.name.map { "'\($0.prefix(100))'" } ?? metric.alias.map { "with the alias \($0)" } ?? "without a name"
    }
}
