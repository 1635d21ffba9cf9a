package import LockstepModel

/// The channels of a device that one session reads together: those of one buffer, all polled ones, or the step counter.
package struct IIOChannelGroup: Sendable, Hashable {
    /// How the channels are read.
    package enum Kind: Sendable, Hashable {
        /// The channels of the buffer with this number, also while they are polled because it is not accessible.
        case buffered(Int)
        /// The channels without a buffer.
        case polled
        /// The hardware step counter.
        case steps
    }

    package let deviceID: String
    package let deviceName: String
    package let placement: IIOPlacement
    package let kind: Kind
    package let streams: [SensorStream]
    /// The native rates at discovery, in samples/s: of the buffer, if the channels have one. Later the device reports
    /// the rate that was set last.
    package let nativeRates: [SensorStream: Double]

    /// The name of the device for users, such as `iio:device0 (bmi160)`.
    package var label: String { deviceName == deviceID ? deviceID : "\(deviceID) (\(deviceName))" }

    /// Returns the requested rates with infinite rates replaced by native rates.
    func resolved(_ requested: [SensorStream: Double]) -> [SensorStream: Double] {
        requested.reduce(into: [:]) { $0[$1.key] = $1.value.isFinite ? $1.value : nativeRates[$1.key] ?? $1.value }
    }

    /// Finds the device again: by number, name and place, otherwise by name and place, because a reconnected device gets
    /// a new number.
    /// - Parameter others: Devices of the same name that existed beside this one and are never its replacement.
    /// - Throws: ``IIOError`` if there is no such device, or it does not provide the streams any more.
    package func find(in tree: IIOTree, except others: Set<String>) throws(IIOError) -> IIODevice {
        let devices = tree.devices().filter {
            ($0.name == deviceName || $0.id == deviceName) && $0.placement == placement
        }
        guard
            let device = devices.first(where: { $0.id == deviceID })
                ?? devices.first(where: { !others.contains($0.id) })
        else {
            throw IIOError("the sensor is not in \(tree.folder.path) any more; connect it again or load its driver")
        }
        guard streams.contains(where: device.usableStreams.contains) else {
            let problems = device.sensors.compactMap(\.problem) + [device.stepCounter?.problem].compactMap { $0 }
            let names = streams.map(\.name).joined(separator: ", ")
            throw IIOError(problems.first ?? "the sensor does not provide \(names) any more")
        }
        return device
    }
}
