/// The id of a recorded session, unique within its group.
public struct SessionID: Identifier {
    /// The kind for error messages.
    public static let kind = "session id"
    /// The identifier as text.
    public let rawValue: String
    /// Creates an identifier without validation.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }

    /// Returns an id made from the name of a session that no other session has.
    /// - Parameter isKnown: whether a session has an id.
    public static func named(_ name: String, isKnown: (SessionID) -> Bool) -> SessionID {
        let words = name.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        let base = words.isEmpty ? "session" : String(words.joined(separator: "-").prefix(48))
        var (id, number) = (SessionID(unchecked: base), 2)
        while isKnown(id) { (id, number) = (SessionID(unchecked: "\(base)-\(number)"), number + 1) }
        return id
    }
}

/// A named recording of several devices of a group: a range of time on the collector's clock, with labels and markers, and
/// whether everything that the devices have accepted in this time is stored.
public struct RecordingSession: Hashable, Sendable {
    /// A group and the id of a session in it.
    public struct Key: Hashable, Sendable {
        /// The group.
        public let group: GroupID
        /// The id.
        public let id: SessionID

        /// Creates a key.
        public init(group: GroupID, id: SessionID) {
            self.group = group
            self.id = id
        }
    }

    /// The state of a session.
    public enum State: String, Sendable, CaseIterable {
        /// Devices are asked for their rates.
        case preparing
        /// Each device is ready, and the start is less than a second ahead.
        case armed
        /// The start is over.
        case recording
        /// The end is over, and samples are on their way.
        case stopping
        /// Everything that the devices have accepted is stored.
        case complete
        /// Something is missing, or on its way for long.
        case incomplete
        /// A person has deleted the session.
        case deleted
    }

    /// A device of a session.
    public struct Device: Hashable, Sendable {
        /// When the device became part of the session, on the collector's clock.
        public var joined: Timestamp
        /// Whether a sample from the start on has been received.
        public var hasSamples = false
        /// Why the device is not ready or not complete, or nil.
        public var problem: String?
        /// The first batch number of the session in each epoch that the store knew when the device became part of it, or nil
        /// while this is not known. Other epochs begin with 1.
        public var firstNumbers: [Epoch: Int64]?
        /// The last batch number of the session in each epoch that the device still has, or nil before the device has reported
        /// this after the end.
        public var lastNumbers: [Epoch: Int64]?
        /// The number of batches that the device still has.
        public var onItsWay: Int64 = 0
        /// The number of batches that will never be stored.
        public var missing: Int64 = 0
        /// The largest possible error of the device's time, in µs, or nil if it is unknown.
        public var clockBound: Int64?
        /// The calibration of accelerometer and gyroscope in the last presence of the device before the end, as its JSON
        /// object; nil without one.
        public var calibration: String?
        /// The rates at which streams arrive, in samples per second. They are not stored.
        public var rates: [String: Double] = [:]

        /// Creates a device that has sent nothing.
        public init(joined: Timestamp) { self.joined = joined }
    }

    /// A point or an interval of time with a text.
    public struct Marker: Hashable, Sendable {
        /// Whose clock has measured the time.
        public enum Clock: String, Sendable {
            /// That of the client, whatever its error is.
            case client
            /// That of the collector, when the request arrived.
            case arrival
        }

        /// The id, unique within the session. A later marker with the same id replaces it.
        public var id: String
        /// The time.
        public var time: Timestamp
        /// Whose clock has measured the time.
        public var clock: Clock
        /// The text.
        public var text: String
        /// The device that the marker is about, or nil.
        public var device: DeviceID?
        /// A number, or nil.
        public var value: Double?
        /// The length of an interval in µs, or nil for a point.
        public var duration: Int64?

        /// Creates a marker.
        public init(
            id: String, time: Timestamp, clock: Clock, text: String, device: DeviceID? = nil, value: Double? = nil,
            duration: Int64? = nil
        ) {
            self.id = id
            self.time = time
            self.clock = clock
            self.text = text
            self.device = device
            self.value = value
            self.duration = duration
        }
    }

    /// A time without samples of a stream.
    public struct Gap: Hashable, Sendable {
        /// The last sample before it, or the start of the session, on the collector's clock.
        public var from: Timestamp
        /// The first sample after it, or the end of the session, on the collector's clock.
        public var to: Timestamp
        /// About how many samples the asked rate has in this time.
        public var count: Int64

        /// Creates a gap.
        /// - Parameter rate: the asked rate, in samples per second.
        public init(from: Timestamp, to: Timestamp, rate: Double) {
            self.from = from
            self.to = to
            count = max(1, Int64((Double(to - from) / 1e6 * rate).rounded()) - 1)
        }
    }

    /// What is stored of one stream of one device.
    public struct Series: Hashable, Sendable {
        /// The device.
        public var device: DeviceID
        /// The name of the stream.
        public var stream: String
        /// The number of samples between start and end.
        public var samples: Int
        /// The times without samples, in order; none for a stream without an asked rate.
        public var gaps: [Gap]

        /// Creates a series.
        public init(device: DeviceID, stream: String, samples: Int, gaps: [Gap]) {
            self.device = device
            self.stream = stream
            self.samples = samples
            self.gaps = gaps
        }
    }

    /// The problem of a device that has answered after the end and has nothing to send.
    public static let noSamples = "has sent no samples"

    /// Group and id.
    public var key: Key
    /// The name for people.
    public var name: String
    /// The state.
    public var state = State.preparing
    /// The time of the request to start, on the collector's clock.
    public var created: Timestamp
    /// The start on the collector's clock (inclusive), or nil before it is known.
    public var start: Timestamp?
    /// The end on the collector's clock (exclusive), or nil before it is known.
    public var end: Timestamp?
    /// The asked rate of each stream, by name, in samples per second. Without any, each stream is recorded as it is.
    public var rates: [String: Double] = [:]
    /// Labels, such as `subject` = `7`.
    public var labels: [String: String] = [:]
    /// Notes, or nil.
    public var note: String?
    /// The asked limit of each device's ``Device/clockBound``, in µs, or nil.
    public var clockBound: Int64?
    /// The time from the start after which the session stops by itself, in µs, or nil.
    public var length: Int64?
    /// The time that devices have to become ready, in µs. After it, the session starts without waiting for the others.
    public var patience: Int64 = 30_000_000
    /// Whether devices of the group that send something while it is recording become part of it.
    public var includesGroup = false
    /// The devices.
    public var devices: [DeviceID: Device] = [:]
    /// The markers, in order of time.
    public var markers: [Marker] = []

    /// Creates a session that prepares.
    public init(key: Key, name: String, created: Timestamp) {
        self.key = key
        self.name = name
        self.created = created
    }

    /// Whether the session goes on by itself: it is neither complete nor waiting for a device for long.
    public var isRunning: Bool { [.preparing, .armed, .recording, .stopping].contains(state) }

    package var canStop: Bool { isRunning && state != .stopping }

    /// The addresses of the devices, in order.
    public var addresses: [DeviceAddress] {
        devices.keys.sorted().map { DeviceAddress(group: key.group, device: $0) }
    }

    /// Whether a state shows that a marker is stored. A state has only the newest 100, so that of an older one is not known to
    /// be missing.
    package func confirms(_ marker: Marker) -> Bool {
        markers.contains(marker) || markers.count >= 100 && markers[0].time > marker.time
    }

    /// Adds a marker, or replaces that with the same id.
    public mutating func add(_ marker: Marker) {
        markers.removeAll { $0.id == marker.id }
        let index = markers.firstIndex { marker.time < $0.time } ?? markers.endIndex
        markers.insert(marker, at: index)
    }
}

/// A request to the collector about a session.
public enum SessionRequest: Hashable, Sendable {
    /// Start a session. Its devices are empty for all of the group.
    case start(RecordingSession)
    /// Add a marker, or replace that with the same id.
    case mark(RecordingSession.Marker)
    /// Stop the session.
    case stop
    /// Change what is given. A label without a value is removed.
    case edit(name: String?, labels: [String: String?], note: String?)
    /// Divide a session that has ended at a time on the collector's clock: what is from then on becomes a session of its own,
    /// with an id that no session of the group has, and a name, or the id as its name.
    case split(at: Timestamp, id: SessionID, name: String?)
    /// Delete the session with its markers. Samples stay.
    case delete

    /// The name of a request in topics.
    public enum Verb: String, Sendable, CaseIterable { case start, mark, stop, edit, split, delete }

    /// The name of the request in topics.
    public var verb: Verb {
        switch self {
        case .start: .start
        case .mark: .mark
        case .stop: .stop
        case .edit: .edit
        case .split: .split
        case .delete: .delete
        }
    }
}
