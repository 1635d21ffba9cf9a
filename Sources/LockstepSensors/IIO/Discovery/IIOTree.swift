import Glibc

/// The location of the Industrial I/O subsystem: the roots of sysfs and of the character devices.
package struct IIOTree: Sendable {
    /// The root of sysfs, usually `/sys`.
    package let sysfsRoot: String
    /// The folder of the character devices, usually `/dev`.
    package let devRoot: String
    let bufferOpener: BufferOpener
    package let choices: IIOChoices

    package init(
        sysfsRoot: String = "/sys", devRoot: String = "/dev", bufferOpener: BufferOpener = .kernel,
        choices: IIOChoices = IIOChoices()
    ) {
        self.sysfsRoot = sysfsRoot
        self.devRoot = devRoot
        self.bufferOpener = bufferOpener
        self.choices = choices
    }

    /// The folder of udev's run-time data that belongs to the root of sysfs: `/run/udev` beside `/sys`.
    package var udevRoot: String {
        let parent = sysfsRoot.lastIndex(of: "/").map { sysfsRoot[..<$0] } ?? "."
        return parent + "/run/udev"
    }

    /// The folder of all devices and triggers.
    package var folder: AttributeFolder { AttributeFolder("\(sysfsRoot)/bus/iio/devices") }

    /// Returns the devices with known quantities, including unusable ones, in the order of their numbers.
    package func devices() -> [IIODevice] {
        let triggers = triggers()
        return folder.numbered("iio:device").compactMap { _, id in
            let device = AttributeFolder(folder[id])
            return DeviceReader(
                id: id, folder: device, node: "\(devRoot)/\(id)", triggers: triggers,
                udev: UdevProperties(root: udevRoot, id: id, folder: device), matrices: choices.mountMatrices
            ).device()
        }
    }

    /// Returns the names and folders of all triggers, in the order of their numbers.
    package func triggers() -> [(name: String, folder: AttributeFolder)] {
        folder.numbered("trigger").compactMap { _, id in
            let trigger = AttributeFolder(folder[id])
            return trigger.text("name").flatMap { $0.isEmpty ? nil : ($0, trigger) }
        }
    }

    /// Returns the error for choices that name no device; nil if all do.
    package func unknownChoice(among devices: [IIODevice]) -> IIOError? {
        guard let name = choices.names.first(where: { name in !devices.contains { $0.isNamed(name) } }) else {
            return nil
        }
        let known = devices.map { device in
            ([device.id, device.name] + [device.placement.label, device.placement.location].compactMap { $0 })
                .joined(separator: " = ")
        }
        return IIOError(
            "no IIO device is named '\(name)'"
                + (known.isEmpty
                    ? "" : "; --iio-device and --mount-matrix take one of: \(known.joined(separator: "; "))")
        )
    }

    /// The error for a system without sensors, with advice.
    package var nothingFound: IIOError {
        let sensors = "accelerometer, gyroscope, magnetometer, barometer or step counter"
        let attributes = (IIOQuantity.allCases.map { "\($0.prefix)_*" } + ["in_steps_input"]).joined(separator: ", ")
        guard folder.contains(".") else {
            return IIOError(
                "no IIO sensor: the folder \(folder.path) does not exist, so no IIO driver is loaded; load the driver of "
                    + "the sensor (modprobe, a device tree overlay), or set other roots with --sysfs-root and --dev-root"
            )
        }
        return IIOError(
            "no IIO sensor: no device in \(folder.path) is an \(sensors) (\(attributes)); load the driver of the sensor "
                + "(modprobe, a device tree overlay)")
    }
}

/// The properties that udev has stored for a device, such as those of its hardware database.
struct UdevProperties: Sendable {
    private let lines: [Substring]

    /// Reads the properties of a device; there are none without udev.
    /// - Parameters:
    ///   - root: The folder of udev's run-time data, usually `/run/udev`.
    ///   - id: The name of the device in sysfs, such as `iio:device0`.
    ///   - folder: The folder of the device in sysfs.
    init(root: String, id: String, folder: AttributeFolder) {
        let data = AttributeFolder(root + "/data")
        // A device without a node in /dev is stored by its name.
        let names = [folder.text("dev").map { "c" + $0 }, "+iio:" + id].compactMap { $0 }
        lines = names.lazy.compactMap { data.text($0) }.first?.split(whereSeparator: \.isNewline) ?? []
    }

    /// Returns the value of a property; nil if it is not set.
    subscript(name: String) -> String? {
        lines.first { $0.hasPrefix("E:\(name)=") }.map { String($0.dropFirst(name.utf8.count + 3)) }
    }
}
