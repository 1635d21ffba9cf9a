import Glibc

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
