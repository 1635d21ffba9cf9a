public import LockstepModel

/// The sensors of this machine in the Linux Industrial I/O subsystem: accelerometer, gyroscope, magnetometer, barometer
/// and hardware step counter.
///
/// Devices with a buffer deliver whole scans with kernel timestamps. Other devices are polled through their attributes:
/// motion sensors 50 times a second by default and at most 100 times, barometers once a second by default. Values are
/// (raw + offset) × scale, rotated by the mount matrix, in the units of the streams: g with (0, 0, -1) at rest, face
/// up (the kernel has +9.8 m/s² there), rad/s, µT, hPa. Sensors without requests are switched off.
///
/// Statuses are reported per stream, under the source's name and the stream: `iio motion/accelerometer`. A device that
/// disappears is reported as unavailable and used again when it returns, at once where the kernel's device events are
/// available, otherwise after 0.5 s to 30 s. Other devices continue.
public struct IIOSource: SensorSource {
    /// The root of sysfs: devices are in `bus/iio/devices` below it.
    public let sysfsRoot: String
    /// The folder of the character devices.
    public let devRoot: String
    /// The time for which samples are collected before they are delivered, in µs; in the device if it has a buffer.
    public let linger: Int64

    private let tree: IIOTree
    private let events: DeviceEvents
    private let selection: IIOSelection
    private let requests = IIORateRequests()

    /// Finds the sensors that exist now. Streams that none of them provides are not added later.
    public init(
        sysfsRoot: String = "/sys", devRoot: String = "/dev", linger: Int64 = SourceOptions.defaultLinger
    ) {
        self.init(tree: IIOTree(sysfsRoot: sysfsRoot, devRoot: devRoot), events: .kernel, linger: linger)
    }

    /// Creates a source with replaced parts of the kernel, for tests.
    package init(tree: IIOTree, events: DeviceEvents, linger: Int64 = SourceOptions.defaultLinger) {
        sysfsRoot = tree.sysfsRoot
        devRoot = tree.devRoot
        self.linger = linger
        self.tree = tree
        self.events = events
        selection = IIOSelection(tree.devices())
    }

    /// `iio`.
    public var name: String { "iio" }

    /// The streams with a usable sensor.
    public var streams: [SensorStream] { selection.streams }

    /// All sensors found. For an unused sensor, `problem` is the reason.
    public func sensors() -> [SensorDescription] { selection.descriptions }

    /// The reason why nothing can be read, with advice; nil if a sensor can be read.
    public var failure: IIOError? { selection.failure(in: tree) }

    /// Returns the rate in samples/s when none is requested; nil if it is unknown.
    public func nativeRate(of stream: SensorStream) -> Double? { selection.nativeRates[stream] }

    /// Sets the requested rates in samples/s, and stops sensors that are not requested.
    public func setRates(_ rates: [SensorStream: Double]) { requests.set(rates) }

    /// The number of wake-ups of the reading threads, to measure the cost of idling.
    package var wakeups: Int { requests.wakeups }

    /// Reads until the task is cancelled, then disables the buffers.
    /// - Throws: ``IIOError`` if no sensor can be used or no file descriptor is left.
    public func run(into sink: any SampleSink) async throws {
        if let failure { throw failure }
        var readers: [IIOReader] = []
        for group in selection.groups {
            let others = selection.deviceIDs.subtracting([group.deviceID])
            readers.append(
                try IIOReader(
                    group: group, tree: tree, others: others, requests: requests, sourceName: name, linger: linger))
        }
        let eventReader = try DeviceEventReader(events)
        let wakers = readers.map(\.waker)
        requests.add(wakers)
        defer { requests.remove(wakers) }
        sink.report(.running, from: name)
        await withTaskGroup { tasks in
            for reader in readers {
                // The handler is inside the task, so that the task is already cancelled when its reader wakes.
                tasks.addTask {
                    await withTaskCancellationHandler {
                        await reader.run(into: sink)
                    } onCancel: {
                        reader.waker.wake()
                    }
                }
            }
            tasks.addTask { [requests] in
                await withTaskCancellationHandler {
                    await eventReader.run(subsystem: "iio") { requests.wakeAll() }
                } onCancel: {
                    eventReader.waker.wake()
                }
            }
        }
    }
}
