import Glibc
public import LockstepModel

/// Counts the floors that a person climbs, from air pressure and steps.
///
/// The altitude is that of the standard atmosphere (ISO 2533). Only what it changes while the person steps is a climb:
///
/// | What changes the pressure | is not a climb because |
/// |---|---|
/// | a lift, or an escalator on which one stands | there are no steps |
/// | weather, a gentle slope | it is slower than 0.07 m/s |
/// | a door, a sensor that begins with an old value | it is faster than 1 m/s |
/// | a lift or a vehicle in which one steps | it is more than 0.35 m a step, which is two stairs |
///
/// A floor is counted when a climb reaches 2 m, and another one after each further 3 m. Climbs up and down are summed
/// separately, each of them from its lowest point, as in the CUSUM test for a change (E. S. Page: Continuous inspection
/// schemes. Biometrika 41, 1954, 100–115). On the flat, what was climbed and is no floor fades within a minute.
///
/// The pressure needs one sample a second, with a noise of at most 0.02 hPa. A floor is recognised about ten seconds after it
/// was reached.
public struct FloorCounter: Sendable {
    /// Half the time over which altitudes are averaged, in µs.
    private static let halfWindow: Int64 = 2_500_000
    /// The time after a step in which the altitude still follows it, in µs: barometers are slow.
    private static let settling: Int64 = 2_000_000
    /// The longest time between two altitudes, in µs, over which a change is known.
    private static let maxGap: Int64 = 5_000_000
    /// The fastest climb, in m/s.
    private static let maxSpeed = 1.0
    /// The slowest climb, in m/s: a slope of 5 %.
    private static let minSpeed = 0.07
    /// The largest rise of a step, in m.
    private static let maxRise = 0.35
    /// How fast a climb fades on the flat, in m/s.
    private static let fading = 0.05
    /// The numbers of altitudes and of rows that are kept. Steps are recognised up to 25 s after they were taken.
    private static let capacity = 120

    private var altimeter = Altimeter()
    /// Rows of steps whose altitudes are not complete yet.
    private var pending: [(start: Int64, end: Int64, steps: Double)] = []
    /// The end of the time that was judged, in µs.
    private var judged = Int64.min
    private var ascent = Climb()
    private var descent = Climb()

    /// Creates a counter in its initial state.
    public init() {}

    /// Processes samples of the `pressure` or the `steps` stream, each in order of time.
    ///
    /// - Returns: rows of the `floors` stream: one for each floor.
    public mutating func update(_ samples: SampleBlock) -> SampleBlock {
        if samples.stream == .pressure {
            for (time, pressure) in zip(samples.times, samples.columns[0]) where pressure > 0 {
                altimeter.add(time: time, altitude: StandardAtmosphere.altitude(at: pressure))
            }
        } else if samples.stream == .steps {
            for (index, end) in samples.times.enumerated() where end.magnitude < 1 << 60 {
                guard let start = Int64(exactly: samples.columns[0][index]), start.magnitude < 1 << 60, start < end
                else { continue }
                pending.append((start, end, samples.columns[1][index]))
            }
            if pending.count > Self.capacity { pending.removeFirst(pending.count - Self.capacity) }
        }
        return judge(isEnd: false)
    }

    /// Returns the floors of the steps that still wait for altitudes, and resets the counter.
    public mutating func finish() -> SampleBlock {
        altimeter.finish()
        defer { self = FloorCounter() }
        return judge(isEnd: true)
    }

    private mutating func judge(isEnd: Bool) -> SampleBlock {
        var rows = SampleBlock(stream: .floors)
        var count = 0
        for row in pending {
            guard let last = altimeter.last else { break }
            var end = row.end + Self.settling
            if isEnd { end = min(end, max(row.end, last)) } else if last < end + Self.halfWindow { break }
            count += 1
            let start = max(row.start, judged)
            guard start < end else { continue }
            judged = end
            let seconds = Double(end - start) / 1e6
            let change = altimeter.smoothed(at: end) - altimeter.smoothed(at: start)
            let cadence = row.steps * 1e6 / Double(row.end - row.start)
            add(change, from: start, to: end, isClimb: abs(change) <= Self.maxRise * cadence * seconds, into: &rows)
        }
        pending.removeFirst(count)
        return rows
    }

    private mutating func add(
        _ change: Double, from start: Int64, to end: Int64, isClimb: Bool, into rows: inout SampleBlock
    ) {
        let seconds = Double(end - start) / 1e6
        guard abs(change) >= Self.minSpeed * seconds else {
            ascent.fade(by: Self.fading * seconds)
            descent.fade(by: Self.fading * seconds)
            return
        }
        guard isClimb else {
            // What was climbed before may have been the start of the lift.
            (ascent, descent) = (Climb(), Climb())
            return
        }
        let time = Timestamp(microseconds: end)
        ascent.add(change, at: start)
        descent.add(-change, at: start)
        if let begin = ascent.takeFloor(at: end) {
            rows.append(time: time, values: [Double(begin), 1, 0])
            descent = Climb()
        }
        if let begin = descent.takeFloor(at: end) {
            rows.append(time: time, values: [Double(begin), 0, 1])
            ascent = Climb()
        }
    }

    /// What was climbed in one direction.
    private struct Climb {
        /// The height at which the first floor of a climb is counted, and that of each further one, in m.
        private static let (first, floor) = (2.0, 3.0)

        /// The height in m; below 0 for the rest of a floor that was counted early.
        private var height = 0.0
        private var start: Int64 = 0

        /// Adds a change in m that began at a time in µs. A change in the other direction lowers the height, at most to 0.
        mutating func add(_ change: Double, at time: Int64) {
            if height == 0 { start = time }
            height = max(min(height, 0), height + change)
        }

        /// Lets the height approach 0, by at most `change` in m.
        mutating func fade(by change: Double) {
            height = height > 0 ? max(0, height - change) : min(0, height + change)
        }

        /// Returns the start of a floor that was completed at `time`, or nil if there is none.
        mutating func takeFloor(at time: Int64) -> Int64? {
            guard height >= Self.first else { return nil }
            defer { start = time }
            height -= Self.floor
            return start
        }
    }

    /// The last altitudes, without changes that are too fast for a person.
    private struct Altimeter {
        /// The mean altitude of each second in m, with its mean time in µs.
        private var altitudes: [(time: Int64, value: Double)] = []
        /// The altitude of the last second before fast changes were removed, in m.
        private var raw = 0.0
        /// The sums of the current second, and their number.
        private var sum = (time: Int64(0), altitude: 0.0, count: Int64(0))
        /// The time of the first sample of the current second, and of the last sample, in µs.
        private var (first, newest) = (Int64.min, Int64.min)

        /// The time of the last altitude, in µs; nil before the first one.
        var last: Int64? { altitudes.last?.time }

        mutating func add(time: Int64, altitude: Double) {
            guard time > newest, time.magnitude < 1 << 60 else { return }
            if sum.count > 0, time - first >= 1_000_000 { finish() }
            if sum.count == 0 { first = time }
            newest = time
            sum = (sum.time + (time - first), sum.altitude + altitude, sum.count + 1)
        }

        /// Completes the current second.
        mutating func finish() {
            guard sum.count > 0 else { return }
            let (time, mean) = (first + sum.time / sum.count, sum.altitude / Double(sum.count))
            sum = (0, 0, 0)
            var value = mean
            if let last = altitudes.last {
                let limit = time - last.time > maxGap ? 0 : maxSpeed * max(Double(time - last.time) / 1e6, 1)
                value = last.value + (abs(mean - raw) <= limit ? mean - raw : 0)
            }
            raw = mean
            altitudes.append((time, value))
            if altitudes.count > capacity { altitudes.removeFirst(capacity / 2) }
        }

        /// Returns the mean altitude around a time in µs. Near the first and the last altitude, fewer are averaged, so that
        /// it is not late.
        func smoothed(at time: Int64) -> Double {
            guard let first = altitudes.first?.time, let last else { return 0 }
            let half = max(0, min(halfWindow, time - first, last - time))
            let parts: Int64 = half > 0 ? 10 : 1
            return (0..<parts).reduce(0) { $0 + altitude(at: time - half + (2 * $1 + 1) * half / parts) }
                / Double(parts)
        }

        private func altitude(at time: Int64) -> Double {
            guard let after = altitudes.firstIndex(where: { $0.time >= time }) else {
                return altitudes.last?.value ?? 0
            }
            guard after > 0 else { return altitudes[0].value }
            let (left, right) = (altitudes[after - 1], altitudes[after])
            return left.value + (right.value - left.value) * Double(time - left.time) / Double(right.time - left.time)
        }
    }
}
