/// Looks at what a sensor counts: holds back what is no measurement, and says what is to be doubted.
package struct ReadingMonitor: Sendable {
    /// Readings of zero along all axes, one after the other, after which they are reported.
    package static let zerosBeforeWarning = 20
    /// How long, in µs, a doubt is told after its last cause.
    package static let warningDuration: Int64 = 5_000_000

    /// The sensor, for people: `iio:device0 (bmi160)`.
    private let label: String
    private let quantity: IIOQuantity
    /// The least and the greatest count; nil where nobody knows.
    private let range: ClosedRange<Double>?
    /// What there is to say of it all the time.
    private var notes: [String]

    private var zeros = 0
    private var isAlive = false
    /// Whether it has ever said anything but zero.
    package private(set) var isProven: Bool
    private var saturated: (axes: String, at: Int64)?
    private var late: (count: Int, at: Int64)?
    private var now: Int64 = .min

    /// - Parameter isProven: whether the sensor has said anything but zero before, since it was found.
    package init(
        label: String, quantity: IIOQuantity, range: ClosedRange<Double>?, notes: [String] = [], isProven: Bool = false
    ) {
        self.label = label
        self.quantity = quantity
        self.range = range
        self.notes = notes
        self.isProven = isProven
    }

    /// Takes what was counted at `time`, in µs.
    /// - Returns: whether it is a measurement.
    package mutating func take(_ raw: SIMD3<Double>, at time: Int64) -> Bool {
        now = max(now, time)
        guard raw != .zero else {
            zeros += 1
            // A gyroscope at rest may well say zero, once it has shown that it says anything else.
            guard isProven, quantity == .rotation else { return false }
            isAlive = true
            return true
        }
        zeros = 0
        isAlive = true
        isProven = true
        if let range {
            let axes = (0..<3).filter { raw[$0] <= range.lowerBound || raw[$0] >= range.upperBound }
            if !axes.isEmpty { saturated = (axes.map { IIOQuantity.axes[$0] }.joined(separator: ", "), time) }
        }
        return true
    }

    /// A sample was dropped at `time`, in µs, because its own time was not later than the one before.
    package mutating func noteLateSample(at time: Int64) {
        now = max(now, time)
        late = ((late?.count ?? 0) + 1, time)
    }

    /// There is something to say from now on.
    package mutating func note(_ text: String) {
        if !notes.contains(text) { notes.append(text) }
    }

    /// How the sensor is; nil before it has said anything.
    package var status: SourceStatus? {
        if zeros >= Self.zerosBeforeWarning, !isAlive || quantity != .rotation {
            return .waiting(
                "\(label) reads zero on all axes: check the sensor's power and wiring; zeros are not published")
        }
        guard isAlive else { return nil }
        var doubts = notes
        if let saturated, now - saturated.at < Self.warningDuration, let range {
            let ends = "\(Int64(exactly: range.lowerBound) ?? .min) or \(Int64(exactly: range.upperBound) ?? .max)"
            doubts.append(
                "\(saturated.axes) at the end of the range (\(ends)): choose a larger \(quantity.prefix)_scale")
        }
        if let late, now - late.at < Self.warningDuration {
            doubts.append("\(late.count) sample\(late.count == 1 ? "" : "s") dropped whose time went backward")
        }
        return doubts.isEmpty ? .running : .degraded("\(label): \(doubts.joined(separator: "; "))")
    }
}
