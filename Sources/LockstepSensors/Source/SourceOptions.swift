public import LockstepModel

/// Options that apply to the sources named by `--source`.
public struct SourceOptions: Sendable, Hashable {
    /// The playback speed of recordings.
    public var speed: ReplaySpeed
    /// The clock for the timestamps of sources that have their own clock: recordings and gpsd.
    public var stamping: Stamping
    /// The native rate of the simulator's motion streams, in samples/s.
    public var simulatedRate: Double
    /// The root of sysfs: sensors are in `bus/iio/devices` and batteries in `class/power_supply` below it.
    public var sysfsRoot: String
    /// The folder of the character devices of the sensors.
    public var devRoot: String
    /// Whether a recording with invalid values or times that go backward is refused instead of read without them.
    public var isStrict = false
    /// What the user says about the columns of a recording.
    public var recording = RecordingFormat()
    /// What the user decides about the sensors of the source `iio`.
    public var iio = IIOChoices()
    /// How long a source collects samples before it delivers them, in µs.
    ///
    /// A longer linger causes fewer wake-ups. Samples that arrive less often than this, and fixes of gpsd, are
    /// delivered at once.
    public var linger: Int64
    /// The streams that a recording can contain.
    public var streams = StreamCatalog.builtIn

    /// The default linger, 50,000 µs: short enough for a live display.
    public static let defaultLinger: Int64 = 50_000

    /// Creates the options.
    public init(
        speed: ReplaySpeed = .realTime, stamping: Stamping = .now, simulatedRate: Double = 100,
        sysfsRoot: String = "/sys", devRoot: String = "/dev", linger: Int64 = defaultLinger
    ) {
        self.speed = speed
        self.stamping = stamping
        self.simulatedRate = simulatedRate
        self.sysfsRoot = sysfsRoot
        self.devRoot = devRoot
        self.linger = linger
    }
}
