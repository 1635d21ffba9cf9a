import LockstepMotion

/// The charge of one or more batteries at one time.
package struct BatteryReading: Sendable, Hashable {
    /// The charge, 0 to 1; nil if it is unknown.
    package var level: Double?
    package var state: State

    /// The charging state, in the order of the choices of the column `state`.
    package enum State: Int, Sendable, Hashable, CaseIterable {
        case unknown, charging, discharging, notCharging, full

        /// Reads the attribute `status` of the kernel: `Charging`, `Not charging`, ….
        package init(status: String) {
            switch status {
            case "Charging": self = .charging
            case "Discharging": self = .discharging
            case "Not charging": self = .notCharging
            case "Full": self = .full
            default: self = .unknown
            }
        }
    }

    package init(level: Double?, state: State) {
        self.level = level
        self.state = state
    }

    /// Combines the batteries of one device: the mean level, weighted by capacity if all capacities are known, and the
    /// most active state.
    /// - Parameter batteries: The readings, each with the full capacity in any common unit, or nil if it is unknown.
    /// - Returns: nil if there is no battery.
    package init?(_ batteries: [(reading: BatteryReading, capacity: Double?)]) {
        guard !batteries.isEmpty else { return nil }
        let known = batteries.filter { $0.reading.level != nil }
        let hasCapacities = known.allSatisfy { $0.capacity != nil }
        var sum = 0.0
        var weights = 0.0
        for (reading, capacity) in known {
            let weight = hasCapacities ? capacity ?? 0 : 1
            sum += weight * (reading.level ?? 0)
            weights += weight
        }
        level = weights > 0 ? sum / weights : nil
        let states = Set(batteries.map(\.reading.state))
        // A device with one full and one charging battery is charging.
        state = [.charging, .discharging, .notCharging, .full].first(where: states.contains) ?? .unknown
    }

    /// The values of the columns of the `battery` stream.
    var values: [Double] { [level.map { resolved($0, decimals: 3) } ?? .nan, Double(state.rawValue)] }
}

/// Decides which readings become samples: each change, and an unchanged reading after ``maxInterval``.
package struct BatteryChanges: Sendable {
    /// The longest time between two samples, in µs.
    package static let maxInterval: Int64 = 300_000_000
    /// The smallest change of the level, of 0 to 1, that makes a reading a sample.
    package static let minChange = 0.01

    private var last: (reading: BatteryReading, time: Int64)?

    package init() {}

    /// Returns whether a reading at `time`, in µs, becomes a sample.
    package mutating func isSample(_ reading: BatteryReading, at time: Int64) -> Bool {
        if let last, last.reading.state == reading.state, time - last.time < Self.maxInterval,
            !Self.isChange(from: last.reading.level, to: reading.level)
        {
            return false
        }
        last = (reading, time)
        return true
    }

    private static func isChange(from old: Double?, to new: Double?) -> Bool {
        guard let old, let new else { return (old == nil) != (new == nil) }
        // The 0.0005 is a tolerance for rounding: levels are whole percents.
        return abs(new - old) >= minChange - 0.0005
    }
}
