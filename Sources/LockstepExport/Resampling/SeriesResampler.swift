import Glibc
public import LockstepModel

/// The values of one stream of one device at other times than those of its samples.
///
/// | column | value between two samples |
/// |---|---|
/// | a number that can be averaged, such as an acceleration | on the straight line between both |
/// | a longitude, a course or a heading | the same, by the shorter way round |
/// | a quaternion | the normalised mean, weighted by the distances in time, by the shorter way |
/// | a word, or a whole number | that of the nearer sample |
///
/// Amounts such as `steps` and times have no value between samples; they are not ``columns``. Between two samples that are farther
/// apart than ``gap``, before the first one and after the last one, all values are unknown. There is no filter: of a stream with
/// a higher rate than that of the wanted times, frequencies above half of that rate appear as lower ones.
public struct SeriesResampler: Sendable {
    private enum Method { case linear, turn, nearest, quaternion }

    /// The columns that have values between samples.
    public let columns: [SensorStream.Column]
    /// The longest time between two samples, in µs, between which values are interpolated.
    public let gap: Int64
    private let methods: [(index: Int, method: Method)]

    /// Creates a resampler of a stream.
    public init(_ stream: SensorStream, gap: Int64) {
        self.gap = gap
        let isAttitude = Set(stream.columns.map(\.name)).isSuperset(of: ["qw", "qx", "qy", "qz"])
        methods = stream.columns.enumerated().compactMap { index, column in
            if column.isTime || column.aggregate == .sum { return nil }
            if isAttitude, ["qw", "qx", "qy", "qz"].contains(column.name) { return (index, .quaternion) }
            guard column.kind == .real else { return (index, .nearest) }
            return (index, column.aggregate == .mean ? .linear : column.unit == "°" ? .turn : .nearest)
        }
        columns = methods.map { stream.columns[$0.index] }
    }

    /// Returns the gap that a stream has by default: two and a half times its usual interval, which is the median.
    /// - Parameter times: the times of some samples in µs, in order; nil if they are fewer than two.
    public static func gap(of times: [Int64]) -> Int64? {
        let intervals = zip(times.dropFirst(), times).map { $0 - $1 }.sorted()
        return intervals.isEmpty ? nil : intervals[intervals.count / 2] * 5 / 2
    }

    /// Returns the values of the columns at each of some times; NaN stands for an unknown value.
    /// - Parameters:
    ///   - samples: the samples in order of time, each with the values of all columns of the stream. They must include the nearest
    ///     ones before and after the times, if these are at most ``gap`` away.
    ///   - times: the times in µs since 1970, in order.
    public func values(of samples: [(time: Int64, values: [Double])], at times: [Int64]) -> [[Double]] {
        var next = 0
        return times.map { time in
            while next < samples.count, samples[next].time < time { next += 1 }
            if next < samples.count, samples[next].time == time {
                return methods.map { samples[next].values[$0.index] }
            }
            guard next > 0, next < samples.count, samples[next].time - samples[next - 1].time <= gap else {
                return methods.map { _ in .nan }
            }
            return between(samples[next - 1], samples[next], at: time)
        }
    }

    private func between(
        _ before: (time: Int64, values: [Double]), _ after: (time: Int64, values: [Double]), at time: Int64
    ) -> [Double] {
        let part = Double(time - before.time) / Double(after.time - before.time)
        let attitude = methods.filter { $0.method == .quaternion }.map(\.index)
        // A quaternion and its opposite are the same attitude.
        let isOpposite = attitude.reduce(0) { $0 + before.values[$1] * after.values[$1] } < 0
        let mixed = attitude.map {
            before.values[$0] * (1 - part) + (isOpposite ? -after.values[$0] : after.values[$0]) * part
        }
        let length = mixed.reduce(0) { $0 + $1 * $1 }.squareRoot()
        var quaternion = mixed.map { Self.rounded($0 / length) }[...]
        return methods.map { index, method in
            let (first, second) = (before.values[index], after.values[index])
            switch method {
            case .nearest: return part < 0.5 ? first : second
            case .quaternion: return quaternion.removeFirst()
            case .linear: return Self.rounded(first + (second - first) * part)
            case .turn:
                // A longitude is from -180 to 180, other angles are from 0 to 360.
                let value = first + (second - first).remainder(dividingBy: 360) * part
                let hasSign = first < 0 || second < 0
                return Self.rounded(
                    value < (hasSign ? -180 : 0) ? value + 360 : value >= (hasSign ? 180 : 360) ? value - 360 : value)
            }
        }
    }

    /// Returns a number with ten significant digits: an interpolation has no more.
    private static func rounded(_ value: Double) -> Double {
        guard value != 0, value.isFinite else { return value }
        let scale = pow(10, 9 - log10(abs(value)).rounded(.down))
        return scale.isFinite ? (value * scale).rounded() / scale : value
    }
}
