import FoundationEssentials
import Glibc
import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors
import LockstepWire
import Logging

/// The settings of `lockstep-agent` without a heading in its help.
struct AgentSettings: SettingGroup {
    let group = Setting("group", "Group of this device (default: default).") { try GroupID(validating: $0) }
    let device = Setting("device", "Id of this device (default: the host name).") { try DeviceID(validating: $0) }
    let root = Setting("root", "Topic prefix (default: lockstep).") { try TopicRoot($0) }
    let outbox = Setting(
        "outbox",
        "Outbox: the file with unacknowledged samples (default: ~/.local/state/lockstep/GROUP-DEVICE.outbox).")
    let outboxSize = Setting(
        "outbox-size",
        "Maximum size of the outbox in bytes; above it, the oldest samples are dropped (default: 256M)."
    ) { Int64(try byteCount($0)) }
    let outboxAge = Setting(
        "outbox-age", "Maximum age of samples in the outbox; older samples are dropped (default: 7d).", parseDuration)
    let ack = Setting(
        "ack",
        """
        Program whose acknowledgement removes samples from the outbox: collector, or broker for a system without a \
        collector (default: collector).
        """
    ) { try choice($0, of: AgentConfiguration.AcknowledgedBy.self) }
    let window = Setting(
        "window", "Time for which samples are collected in one message (default: 1s).", parseDuration)
    let batch = Setting("batch", "Maximum number of samples in a message (default: 1000).") {
        try wholeNumber($0, in: 1...10_000)
    }
    let encoding = Setting(
        "encoding",
        """
        Encoding of samples: json, which is human-readable, or cbor, which takes less than a quarter of the size \
        (default: json).
        """
    ) { try choice($0, of: BatchEncoding.self) }
    let backlogRate = Setting(
        "backlog-rate",
        """
        Maximum rate of backlog in bytes per second, in addition to the live data (default: 256K). Backlog is data \
        that is sent late or again.
        """, byteCount)
    let heartbeat = Setting(
        "heartbeat", "Interval between presence messages while nothing changes (default: 30s).", parseDuration)
    let journal = Setting.flag(
        "journal", "Keep acknowledged samples in the outbox too, for 'lockstep verify --journal'.")
}

/// Returns the first label of the host name as a device id.
/// - Throws: ``CommandFailure`` if it is not a valid id.
func hostDevice() throws -> DeviceID {
    let host = String(ProcessInfo.processInfo.hostName.prefix { $0 != "." })
    guard let device = DeviceID(rawValue: host) else {
        throw CommandFailure("the host name '\(host)' is not a valid device id: set one with --device")
    }
    return device
}

/// Returns the default path of a device's outbox, and creates its folder.
/// - Throws: ``CommandFailure`` if neither `XDG_STATE_HOME` nor `HOME` is set, or if the folder cannot be created.
func defaultOutbox(for address: DeviceAddress) throws -> String {
    let environment = ProcessInfo.processInfo.environment
    guard let state = environment["XDG_STATE_HOME"] ?? environment["HOME"].map({ $0 + "/.local/state" }) else {
        throw CommandFailure("no folder for the outbox: XDG_STATE_HOME and HOME are not set; set a file with --outbox")
    }
    let folder = state + "/lockstep"
    do {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
        throw CommandFailure("cannot create the folder '\(folder)' for the outbox: set a file with --outbox")
    }
    return "\(folder)/\(address.group)-\(address.device).outbox"
}

func replaySpeed(_ text: String) throws -> ReplaySpeed {
    guard let speed = ReplaySpeed(text) else {
        throw CommandFailure("'\(text)' is not a speed: use a factor above 0, or max")
    }
    return speed
}

/// The rates at which streams are published.
struct RateSettings: SettingGroup {
    let rate = Setting.list(
        "rate", placeholder: "stream=hz",
        """
        Rate of a stream: samples per second, off, or source for the rate of the sensor itself; may be repeated (default: \
        source, but 50 for motion/device and 10 for heading).
        """)
    let backgroundRate = Setting.list(
        "background-rate", placeholder: "stream=hz",
        """
        Rate of a stream in the background phase; may be repeated (default: off for motion, orientation and \
        heading, 0.1 for pressure and altitude, every 500 m for location, and the foreground rate for all others).
        """)
}

extension Options<RateSettings> {
    func rates(_ settings: Settings) throws -> PublishingRates {
        PublishingRates(
            foreground: try requests(self.rate, settings), background: try requests(self.backgroundRate, settings))
    }

    private func requests(_ setting: Setting<String>, _ settings: Settings) throws -> [SensorStream: SensorRequest] {
        let pairs = try settings.values(setting) { try request($0, streams: settings.streams) }
        return try pairs.reduce(into: [:]) { requests, pair in
            guard requests.updateValue(pair.request, forKey: pair.stream) == nil else {
                throw CommandFailure("--\(setting.name) is given twice for \(pair.stream)")
            }
        }
    }
}

/// Parses a rate such as `motion/accelerometer=50`, `steps=off`, `gyroscope=source`.
private func request(
    _ text: String, streams: StreamCatalog
) throws -> (stream: SensorStream, request: SensorRequest) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw CommandFailure("'\(text)' is not a rate: use STREAM=HZ") }
    guard let stream = streams.stream(named: String(parts[0])) else {
        throw CommandFailure(streams.unknownStreamMessage(for: String(parts[0])))
    }
    switch parts[1] {
    case "off": return (stream, SensorRequest(rate: 0))
    case "source": return (stream, .everything)
    default:
        guard let rate = Double(String(parts[1])), RateLease.validRates.contains(rate) else {
            let range = "\(RateLease.validRates.lowerBound) to \(RateLease.validRates.upperBound)"
            throw CommandFailure("'\(parts[1])' is not a rate: use \(range) samples per second, off or source")
        }
        return (stream, SensorRequest(rate: rate))
    }
}

struct DerivedStreamSettings: SettingGroup {
    let frame = Setting(
        "frame",
        """
        Reference frame of the attitude in motion/device: arbitrary, arbitraryCorrected, magneticNorth or trueNorth \
        (default: magneticNorth). Without a magnetometer, the frame is always arbitrary. Without --declination, \
        trueNorth requires a location; until the first one, the frame is magneticNorth. Each sample contains its frame.
        """
    ) { try choice($0, of: AttitudeReferenceFrame.self) }
    let declination = Setting(
        "declination",
        """
        Magnetic declination in degrees, east positive (default: from the World Magnetic Model at the newest location).
        """, degrees)
    let stepLength = Setting(
        "step-length",
        "Step length in m at normal walking speed, to compute distances (default: estimated from the height)."
    ) { try metres($0, in: PedometerOptions.stepLengths) }
    let height = Setting("height", "Height of the person in m, to estimate the step length (default: 1.68).") {
        try metres($0, in: PedometerOptions.heights)
    }
}

extension Options<DerivedStreamSettings> {
    func options(_ settings: Settings) throws -> DerivedOptions {
        var options = DerivedOptions()
        try settings.assign(self.frame, to: &options.deviceMotion.referenceFrame)
        options.deviceMotion.declination = try settings.value(self.declination)
        options.pedometer = PedometerOptions(
            stepLength: try settings.value(self.stepLength), height: try settings.value(self.height))
        return options
    }
}
