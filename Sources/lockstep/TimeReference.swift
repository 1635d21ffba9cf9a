import ArgumentParser
import LockstepCommandLine
import LockstepExport
import LockstepModel

/// The time line of printed or exported samples.
enum TimeReference: String, CaseIterable, ExpressibleByArgument {
    /// The time line of each device, as stored.
    case device
    /// The clock of the collector, which all devices share.
    case collector

    /// Warns of devices whose times cannot be converted.
    static func warn(_ time: CollectorTime?) {
        guard let time, !time.unknownDevices.isEmpty else { return }
        let shown = time.unknownDevices.prefix(5).map(\.description).joined(separator: ", ")
        let more = time.unknownDevices.count > 5 ? " and \(time.unknownDevices.count - 5) more" : ""
        Terminal.writeError(
            "Warning: no clock estimates of \(shown)\(more): these rows have the device's own time and no bound")
    }
}
