public import LockstepModel

/// The sensors of this machine in the Linux Industrial I/O subsystem: accelerometer, gyroscope, magnetometer, barometer
/// and hardware step counter.
///
/// Devices with a buffer deliver whole scans with kernel timestamps. Other devices are polled through their attributes:
/// motion sensors 50 times a second by default and at most 100 times, barometers once a second by default. Values are
/// (raw + offset) × scale, rotated by the mount matrix, in g ((0, 0, -1) at rest, face up; the kernel has +9.8 m/s²
/// there, but -9.8 m/s² for HID sensor hubs), rad/s, µT and hPa. The mount matrix is that of ``IIOChoices``, of udev
/// (`ACCEL_MOUNT_MATRIX`) or of sysfs; one that is no rotation is reported and not used. Sensors that are not requested are switched off.
///
/// Statuses are reported per stream, under the source's name and the stream: `iio motion/accelerometer`. A device that
/// disappears is reported as unavailable and used again when it returns, at once where device events are available,
/// otherwise after 0.5 s to 30 s. Other devices continue.
///
/// udev sets the access rights of a device after the device has appeared. Until then, a device with a buffer is polled
/// if possible, and sensors that cannot be read are reported as unavailable. The buffer and these sensors are tried
/// again at each device event, and after 0.1 s to 60 s. The change to the buffer is reported as a status.
public struct IIOSource: SensorSource {
    /// The root of sysfs: devices are in `bus/iio/devices` below it.
    public let sysfsRoot: String
    /// The folder of the character devices.
    public let devRoot: String
    /// How long samples are collected before they are delivered, in µs. A device with a buffer collects them itself.
    public let linger: Int64

    private let tree: IIOTree
    private let events: DeviceEvents
    private let selection: IIOSelection
    private let requests = IIORateRequests()
    private let retry: BufferRetry
    /// The error for a device that the user has named and that does not exist.
    private let unknownChoice: IIOError?

    /// Creates a source of the sensors that exist now, including those that lack access rights if another one can be
    /// read. Streams of sensors that appear later are not added.
    public init(
        sysfsRoot: String = "/sys", devRoot: String = "/dev", linger: Int64 = SourceOptions.defaultLinger,
        choices: IIOChoices = IIOChoices()
    ) {
        let tree = IIOTree(sysfsRoot: sysfsRoot, devRoot: devRoot, choices: choices)
        self.init(tree: tree, events: .kernel, linger: linger)
    }

    /// Creates a source with replacements of kernel interfaces, for tests.
    package init(
        tree: IIOTree, events: DeviceEvents, linger: Int64 = SourceOptions.defaultLinger,
        retry: BufferRetry = BufferRetry()
    ) {
        sysfsRoot = tree.sysfsRoot
        devRoot = tree.devRoot
        self.linger = linger
        self.tree = tree
        self.events = events
        self.retry = retry
        let devices = tree.devices()
        selection = IIOSelection(devices, chosen: tree.choices.devices)
        unknownChoice = tree.unknownChoice(among: devices)
    }

    /// The name of the source, `iio`.
    public var name: String { "iio" }

    /// The streams for which a usable sensor exists.
    public var streams: [SensorStream] { selection.streams }

    /// Returns all sensors found. The problem of an unused sensor is the reason why it is not used.
    public func sensors() -> [SensorDescription] { selection.descriptions }

    /// The reason why no sensor can be read or a device that the user has chosen is missing, with advice; nil if there is
    /// none.
    public var failure: IIOError? { selection.failure(in: tree) ?? unknownChoice }

    /// Returns the rate in samples/s when none is requested; nil if it is unknown.
    public func nativeRate(of stream: SensorStream) -> Double? { selection.nativeRates[stream] }

    /// Sets the requested rates in samples/s, and stops sensors that are not requested.
    public func setRates(_ rates: [SensorStream: Double]) { requests.set(rates) }

    /// The number of wake-ups of the reading threads, to measure the cost of idling.
    package var wakeups: Int { requests.wakeups }

    /// Reads until the task is cancelled, then disables the buffers.
    /// - Throws: ``IIOError`` if no sensor can be used, or the process has no free file descriptors.
    public func run(into sink: any SampleSink) async throws {
        if let failure { throw failure }
        var readers: [IIOReader] = []
        for group in selection.groups {
            readers.append(
                try IIOReader(
                    group: group, tree: tree, others: selection.others(than: group), requests: requests,
                    sourceName: name, options: IIOReadingOptions(linger: linger, retry: retry)))
        }
        let eventReader = try DeviceEventReader(events)
        let wakers = readers.map(\.waker)
        requests.add(wakers)
        defer { requests.remove(wakers) }
        sink.report(.running, from: name)
        await withTaskGroup { tasks in
            for reader in readers {
                // Inside the child task, so that the task is already cancelled when its reader wakes up.
                tasks.addTask {
                    await withTaskCancellationHandler {
                        await reader.run(into: sink)
                    } onCancel: {
                        reader.waker.signal()
                    }
                }
            }
            tasks.addTask { [readers] in
                await withTaskCancellationHandler {
                    await eventReader.run(subsystem: "iio") {
                        for reader in readers { reader.noteEvent() }
                    }
                } onCancel: {
                    eventReader.waker.signal()
                }
            }
        }
    }
}

/// What a user decides about the sensors of the Industrial I/O subsystem.
public struct IIOChoices: Sendable, Hashable {
    /// The devices that provide their streams before all others, best first. A device is named by its id
    /// (`iio:device1`), its name, its label (`accel-display`) or its location (`lid`).
    public var devices: [String]
    /// The mount matrices that replace those of the system.
    public var mountMatrices: [IIOMountMatrix]

    /// Creates the choices; by default nothing is chosen.
    public init(devices: [String] = [], mountMatrices: [IIOMountMatrix] = []) {
        self.devices = devices
        self.mountMatrices = mountMatrices
    }

    var names: [String] { devices + mountMatrices.compactMap(\.device) }
}

/// A mount matrix chosen by the user.
public struct IIOMountMatrix: Sendable, Hashable {
    /// The device as in ``IIOChoices/devices``; nil for all devices without an own choice.
    public let device: String?
    package let matrix: MountMatrix

    /// Parses `[DEVICE=]MATRIX`, such as `accel-display=0 1 0; 1 0 0; 0 0 1`.
    /// - Throws: ``IIOError`` if the matrix is not the rotation of a mounted sensor.
    public init(_ text: String) throws(IIOError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        device = parts.count == 2 ? String(parts[0]) : nil
        matrix = try MountMatrix(String(parts[parts.count - 1]))
    }
}
