import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

/// Returns a moment some seconds after a fixed start.
func moment(_ seconds: Double) -> Moment {
    let microseconds = Int64((seconds * 1_000_000).rounded())
    return Moment(
        wall: Timestamp(microseconds: 1_700_000_000_000_000 + microseconds), boot: 50_000_000 + microseconds,
        awake: 50_000_000 + microseconds)
}

func device(_ name: String, group: String = "lab") -> DeviceAddress {
    DeviceAddress(group: GroupID(unchecked: group), device: DeviceID(unchecked: name))
}

/// Returns samples that start at a time, with a different value in each sample.
func samples(
    _ count: Int, of stream: SensorStream = .accelerometer, from seconds: Double, interval: Int64 = 10_000
) -> SampleBlock {
    let start = moment(seconds).wall.microseconds
    return SampleBlock(
        stream: stream, times: (0..<Int64(count)).map { start + $0 * interval },
        columns: stream.columns.indices.map { column in (0..<count).map { Double($0) + Double(column) / 8 } })
}

func transition(
    _ state: LifecycleState, from previous: LifecycleState? = nil, at seconds: Double = 0, seq: Int64 = 1
) -> LifecycleTransition {
    LifecycleTransition(from: previous, to: state, since: moment(seconds).wall, reason: "test", seq: seq)
}

/// A message of a device.
struct Message {
    let topic: String
    let payload: [UInt8]

    init(_ address: DeviceAddress, _ channel: String, _ payload: [UInt8]) {
        topic = "lockstep/\(address)/\(channel)"
        self.payload = payload
    }

    static func samples(_ samples: SampleBlock, of address: DeviceAddress, isLive: Bool = true) -> Message {
        let batch = Batch(position: nil, isLive: isLive, samples: samples)
        return Message(address, samples.stream.name, BatchEncoding.cbor.encode(batch))
    }

    static func state(_ transition: LifecycleTransition, of address: DeviceAddress) -> Message {
        Message(address, "state", StateJSON.encode(transition))
    }

    static func presence(
        _ phase: Phase, of address: DeviceAddress, session: Int64 = 1, sources: [String: String] = [:],
        dropped: [ClosedRange<Int64>] = [], droppedSamples: Int64 = 0, calibration: InertialCalibration? = nil
    ) -> Message {
        let presence = Presence(
            epoch: Epoch(unchecked: "e"), session: session, phase: phase, at: moment(0).wall, dropped: dropped,
            droppedSamples: droppedSamples, sources: sources, calibration: calibration)
        return Message(address, "presence", PresenceJSON.encode(presence))
    }
}

extension LiveDevices {
    @discardableResult
    mutating func handle(_ message: Message, at seconds: Double) -> LiveChange? {
        message.payload.withUnsafeBytes { handle(topic: message.topic, payload: $0, at: moment(seconds)) }
    }
}

extension LivePicture {
    /// Handles a message, and advances to its time.
    @discardableResult
    func handle(_ message: Message, at seconds: Double) -> LiveChange? {
        let change = message.payload.withUnsafeBytes {
            handle(topic: message.topic, payload: $0, contentType: nil, at: moment(seconds))
        }
        _ = advance(to: moment(seconds))
        return change
    }

    /// Advances through a span of time in steps of 5 ms.
    func advance(from start: Double, to end: Double) {
        for step in 0...Int(((end - start) * 200).rounded()) { _ = advance(to: moment(start + Double(step) / 200)) }
    }
}

/// A server-sent event.
struct Event: Equatable {
    var name: String?
    var id: String?
    var data = ""

    init(_ text: Substring) {
        for line in text.split(separator: "\n") {
            if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
            if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
            if line.hasPrefix("data: ") { data = String(line.dropFirst(6)) }
        }
    }

    /// The samples in the event's data.
    func samples(of stream: SensorStream = .accelerometer) throws -> SampleBlock {
        // The data are a batch of the wire format, with three more members and without a version.
        let text = "{\"v\":1," + data.dropFirst()
        return try Array(text.utf8).withUnsafeBytes {
            try BatchEncoding.decode($0, contentType: nil, stream: stream, limits: PayloadLimits())
        }.samples
    }
}

/// Returns the events in encoded bytes.
func events(_ chunks: [[UInt8]]?) -> [Event] {
    let text = String(decoding: (chunks ?? []).joined(), as: UTF8.self)
    return text.split(separator: "\n\n").filter { !$0.hasPrefix(":") }.map(Event.init)
}

extension LiveSubscription {
    /// Removes and returns the events that wait.
    func waiting() -> [Event] { withExtendedLifetime(self) { events(subscriber.takeWaiting()) } }
}
