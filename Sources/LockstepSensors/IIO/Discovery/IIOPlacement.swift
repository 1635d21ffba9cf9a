/// Where a device is mounted, as firmware or board state it. Convertibles have a sensor in the display and one in the
/// base.
package struct IIOPlacement: Sendable, Hashable {
    /// The attribute `label`, such as `accel-display`.
    package let label: String?
    /// The attribute `location`, such as `lid`, or udev's property `ACCEL_LOCATION`, such as `display`.
    package let location: String?

    /// Reads the attributes of a device.
    init(_ folder: AttributeFolder, _ udev: UdevProperties) {
        label = folder.text("label").flatMap { $0.isEmpty ? nil : $0 }
        let texts = [folder.text("location"), udev["ACCEL_LOCATION"]]
        location = texts.lazy.compactMap { $0 }.first { !$0.isEmpty }
    }

    /// The order in which devices are preferred: 0 in the display, 1 if unknown, 2 in the base. A device's orientation is
    /// that of its display.
    package var rank: Int {
        // Labels end with the place: accel-display, gyro-base.
        let words = [label, location].compactMap { $0?.split(separator: "-").last }
        if words.contains("display") || words.contains("lid") { return 0 }
        return words.contains("base") ? 2 : 1
    }
}
