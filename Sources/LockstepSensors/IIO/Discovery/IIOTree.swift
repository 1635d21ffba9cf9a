/// The location of the Industrial I/O subsystem: the roots of sysfs and of the character devices.
package struct IIOTree: Sendable {
    /// The root of sysfs, usually `/sys`.
    package let sysfsRoot: String
    /// The folder of the character devices, usually `/dev`.
    package let devRoot: String
    /// Opens the buffers of the character devices.
    let bufferOpener: BufferOpener

    package init(sysfsRoot: String = "/sys", devRoot: String = "/dev", bufferOpener: BufferOpener = .kernel) {
        self.sysfsRoot = sysfsRoot
        self.devRoot = devRoot
        self.bufferOpener = bufferOpener
    }

    /// The folder of all devices and triggers.
    package var folder: AttributeFolder { AttributeFolder("\(sysfsRoot)/bus/iio/devices") }

    /// Returns the devices with known quantities, including unusable ones, in the order of their numbers.
    package func devices() -> [IIODevice] {
        let triggers = triggers()
        return folder.numbered("iio:device").compactMap { _, id in
            DeviceReader(
                id: id, folder: AttributeFolder(folder[id]), node: "\(devRoot)/\(id)", triggers: triggers
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
