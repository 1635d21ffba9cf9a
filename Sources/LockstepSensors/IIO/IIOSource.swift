public import LockstepModel

/// The sensors of this machine that the Linux Industrial I/O subsystem knows: accelerometer, gyroscope, magnetometer and
/// hardware step counter.
///
/// Scans come through a device's buffer where it has one, with the kernel's timestamps; otherwise attributes are read
/// one after the other, 50 times a second unless told otherwise and 100 times at the most. Values are
/// (raw + offset) × scale, turned by the mount matrix, in our units: g with (0, 0, -1) at rest face up (the kernel has
/// +9.8 m/s² there), rad/s, µT. A sensor of which nobody wants anything is switched off.
///
/// How each sensor is, is reported under the name of the source and the stream: `iio motion/accelerometer`. A device
/// that goes away is looked for again after 0.5 s to 30 s, and the others go on.
public struct IIOSource: SensorSource {
    /// Where sysfs is: devices are in `bus/iio/devices` below it.
    public let sysfsRoot: String
    /// Where the character devices are.
    public let devRoot: String
    /// How long samples gather before they are handed over, in µs: in the device where it has a buffer.
    public let linger: Int64

    private let tree: IIOTree
    private let selection: IIOSelection
    private let rates = IIORateRequests()

    /// Looks which sensors there are; those that appear later are not used.
    public init(
        sysfsRoot: String = "/sys", devRoot: String = "/dev", linger: Int64 = SourceOptions.defaultLinger
    ) {
        self.sysfsRoot = sysfsRoot
        self.devRoot = devRoot
        self.linger = linger
        tree = IIOTree(sysfsRoot: sysfsRoot, devRoot: devRoot)
        selection = IIOSelection(tree.devices())
    }

    /// `iio`.
    public var name: String { "iio" }

    /// Those that a sensor was found for that can be used.
    public var streams: [SensorStream] { selection.streams }

    /// Every sensor that was found, also those that are not used, with the reason as their problem.
    public func sensors() -> [SensorDescription] { selection.descriptions }

    /// Why nothing can be read, with what to do about it; nil where something can.
    public var failure: IIOError? { selection.failure(in: tree) }

    public func nativeRate(of stream: SensorStream) -> Double? { selection.nativeRates[stream] }

    public func setRates(_ rates: [SensorStream: Double]) { self.rates.set(rates) }

    /// How often its threads have woken: what it costs when there is nothing to do.
    package var wakeups: Int { rates.wakeups }

    /// Reads until the task is cancelled; buffers are switched off then.
    /// - Throws: ``IIOError`` if there is no sensor that can be used, or no file descriptor is left.
    public func run(into sink: any SampleSink) async throws {
        if let failure { throw failure }
        var readers: [IIOReader] = []
        for part in selection.parts {
            let others = selection.deviceIDs.subtracting([part.deviceID])
            readers.append(
                try IIOReader(
                    part: part, tree: tree, others: others, rates: rates, sourceName: name, linger: linger))
        }
        let wakers = readers.map(\.waker)
        rates.add(wakers)
        defer { rates.remove(wakers) }
        sink.report(.running, from: name)
        await withTaskGroup { group in
            for reader in readers {
                group.addTask {
                    // Within each task: its own cancellation is then known when its reader wakes.
                    await withTaskCancellationHandler {
                        await reader.run(into: sink)
                    } onCancel: {
                        reader.waker.wake()
                    }
                }
            }
        }
    }
}
