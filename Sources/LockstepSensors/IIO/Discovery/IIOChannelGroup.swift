package import LockstepModel

/// What is read of a device in one go.
package struct IIOChannelGroup: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case buffered, polled, steps
    }

    package let deviceID: String
    package let deviceName: String
    package let kind: Kind
    package let streams: [SensorStream]
    /// Samples a second that each went by itself when it was found: later the device says what it was set to.
    package let nativeRates: [SensorStream: Double]

    /// `iio:device0 (bmi160)`.
    package var label: String { deviceName == deviceID ? deviceID : "\(deviceID) (\(deviceName))" }

    /// What is wanted, with the own rate for an infinite one.
    func resolved(_ wanted: [SensorStream: Double]) -> [SensorStream: Double] {
        wanted.reduce(into: [:]) { $0[$1.key] = $1.value.isFinite ? $1.value : nativeRates[$1.key] ?? $1.value }
    }

    /// The device as it is now: the one of the same number and name, or else of the same name, since a device that was
    /// plugged in again has a new number.
    /// - Parameter others: devices that are not this one, though they may have its name.
    /// - Throws: ``IIOError`` if there is none, or if it does not give these streams any more.
    package func find(in tree: IIOTree, except others: Set<String>) throws(IIOError) -> IIODevice {
        let devices = tree.devices().filter { $0.name == deviceName || $0.id == deviceName }
        guard
            let device = devices.first(where: { $0.id == deviceID })
                ?? devices.first(where: { !others.contains($0.id) })
        else {
            throw IIOError("it is not in \(tree.folder.path) any more; connect it again or load its driver")
        }
        guard streams.contains(where: device.usableStreams.contains) else {
            let problems = device.sensors.compactMap(\.problem) + [device.stepCounter?.problem].compactMap { $0 }
            throw IIOError(problems.first ?? "it does not give \(streams.map(\.name).joined(separator: ", ")) any more")
        }
        return device
    }
}
