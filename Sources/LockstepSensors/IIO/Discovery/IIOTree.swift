/// Where the Industrial I/O subsystem is to be found: the roots of sysfs and of the devices.
package struct IIOTree: Sendable, Hashable {
    /// `/sys`.
    package let sysfsRoot: String
    /// `/dev`.
    package let devRoot: String

    package init(sysfsRoot: String = "/sys", devRoot: String = "/dev") {
        self.sysfsRoot = sysfsRoot
        self.devRoot = devRoot
    }

    /// The folder of all devices and triggers.
    package var folder: AttributeFolder { AttributeFolder("\(sysfsRoot)/bus/iio/devices") }

    /// The devices that measure what we want, and those that would but for a problem, in the order of their numbers.
    package func devices() -> [IIODevice] {
        let triggers = triggers()
        return folder.numbered("iio:device").compactMap { number, id in
            DeviceReader(
                id: id, folder: AttributeFolder(folder[id]), node: "\(devRoot)/\(id)", triggers: triggers
            ).device()
        }
    }

    /// All triggers by name, in the order of their numbers, with their folders.
    package func triggers() -> [(name: String, folder: AttributeFolder)] {
        folder.numbered("trigger").compactMap { number, id in
            let trigger = AttributeFolder(folder[id])
            return trigger.text("name").flatMap { $0.isEmpty ? nil : ($0, trigger) }
        }
    }

    /// What was looked for in vain, and what to do.
    package var nothingFound: IIOError {
        let what = "accelerometer, gyroscope, magnetometer or step counter"
        guard folder.contains(".") else {
            return IIOError(
                "no IIO sensor: there is no folder \(folder.path), so the kernel has no driver for any; load that of the "
                    + "sensor (modprobe, a device tree overlay), or name other roots with --sysfs-root and --dev-root")
        }
        return IIOError(
            "no IIO sensor: none of the devices in \(folder.path) is an \(what) (in_accel_*, in_anglvel_*, in_magn_*, "
                + "in_steps_input); load the driver of the sensor (modprobe, a device tree overlay)")
    }
}
