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
