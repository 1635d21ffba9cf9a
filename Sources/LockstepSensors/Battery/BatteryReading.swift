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

/// The batteries of a machine as the kernel describes them in `class/power_supply`
/// (`Documentation/ABI/testing/sysfs-class-power`).
package struct PowerSupplyTree: Sendable, Hashable {
    /// The root of sysfs: `/sys`.
    package let sysfsRoot: String

    package init(sysfsRoot: String = "/sys") { self.sysfsRoot = sysfsRoot }

    /// The folder with one folder per power supply.
    package var folder: AttributeFolder { AttributeFolder("\(sysfsRoot)/class/power_supply") }

    /// The folders of the batteries that power the machine, sorted by name. Batteries of peripherals, such as a mouse,
    /// are excluded.
    package var batteries: [AttributeFolder] {
        folder.names.sorted().map { AttributeFolder(folder[$0]) }.filter { supply in
            supply.text("type") == "Battery" && supply.text("scope") != "Device" && supply.text("present") != "0"
        }
    }

    /// Reads all batteries.
    /// - Returns: nil if there is no battery.
    package func read() -> BatteryReading? {
        BatteryReading(batteries.map { (Self.reading(of: $0), Self.capacity(of: $0)) })
    }

    private static func reading(of battery: AttributeFolder) -> BatteryReading {
        BatteryReading(
            level: level(of: battery), state: BatteryReading.State(status: battery.text("status") ?? ""))
    }

    /// Returns the level, 0 to 1, from the capacity in percent if available, otherwise from energy or charge.
    private static func level(of battery: AttributeFolder) -> Double? {
        if let percent = battery.number("capacity") { return min(max(percent / 100, 0), 1) }
        for kind in ["energy", "charge"] {
            guard let now = battery.number("\(kind)_now"), let full = battery.number("\(kind)_full"), full > 0 else {
                continue
            }
            return min(max(now / full, 0), 1)
        }
        return nil
    }

    /// Returns the energy of the full battery in µWh; nil if it is unknown.
    private static func capacity(of battery: AttributeFolder) -> Double? {
        battery.number("energy_full").flatMap { $0 > 0 ? $0 : nil }
    }
}

extension AttributeFolder {
    /// Returns the number in an attribute; nil if there is none.
    fileprivate func number(_ name: String) -> Double? {
        text(name).flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil }
    }
}
