import LockstepMotion

/// The charge of one or more batteries at one time.
package struct BatteryReading: Sendable, Hashable {
    /// The charge, 0 to 1; nil if it is unknown.
    package var level: Double?
    package var state: State

    /// The state of charging, in the order of the words of the column `state`.
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

    /// Combines the batteries of one device: the mean level, weighted with the capacities where all are known, and the
    /// most active state.
    /// - Returns: nil if there is none.
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
        // A device with a full and a charging battery charges.
        state = [.charging, .discharging, .notCharging, .full].first(where: states.contains) ?? .unknown
    }

    /// The values of the columns of the `battery` stream.
    var values: [Double] { [level.map { resolved($0, decimals: 3) } ?? .nan, Double(state.rawValue)] }
}

/// Decides which readings become samples: changes, and a repetition after ``maxInterval``.
package struct BatteryChanges: Sendable {
    /// The longest time between two samples, in µs.
    package static let maxInterval: Int64 = 300_000_000
    /// The smallest change of the level that is a sample.
    package static let minChange = 0.01

    private var last: (reading: BatteryReading, time: Int64)?

    package init() {}

    /// Returns whether a reading at `time`, in µs, is a sample.
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
        // Half a thousandth less, because levels are counted in whole percents.
        return abs(new - old) >= minChange - 0.0005
    }
}
