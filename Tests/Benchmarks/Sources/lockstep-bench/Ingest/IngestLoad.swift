import Foundation
import LockstepModel
import LockstepWire

/// The messages of a fleet, written to files so that every side gets the same load.
///
/// Each device has three motion sensors at 100 Hz. The values resemble a walk: a sine, its harmonic and noise, rounded
/// to four decimals.
struct IngestLoad {
    let devices: Int
    let messages: Int
    let samples: Int
    /// The input of `publish-load`.
    let messageFile: String
    /// The input of `insert-rows`. Devices are numbered from 1.
    let rowFile: String

    static let streams: [SensorStream] = [.accelerometer, .gyroscope, .magnetometer]

    /// Writes `messages` messages of `size` samples to two files in `folder`, alternating between streams and devices.
    /// - Parameter groups: The groups of the devices, in turn.
    init(
        devices: Int, messages: Int, size: Int, groups: [String] = ["bench"], in folder: String, named name: String
    ) throws {
        self.devices = devices
        self.messages = messages
        samples = messages * size
        messageFile = "\(folder)/\(name).messages"
        rowFile = "\(folder)/\(name).rows"
        let files = try (LoadFile(messageFile), LoadFile(rowFile))
        let root = TopicRoot.standard
        for message in 0..<messages {
            let source = message % (devices * Self.streams.count)
            let turn = message / (devices * Self.streams.count)
            let device = source / Self.streams.count
            let stream = Self.streams[source % Self.streams.count]
            let block = Self.block(of: stream, device: device, first: turn * size, count: size)
            let batch = Batch(
                position: BatchPosition(epoch: try Epoch(validating: "bench"), seq: Int64(turn * 3 + source % 3 + 1)),
                isLive: true, samples: block)
            let address = DeviceAddress(
                group: try GroupID(validating: groups[device % groups.count]),
                device: try DeviceID(validating: "device-\(device)"))
            files.0.add(topic: root.topic(address, .stream(stream)), payload: BatchJSON.encode(batch))
            files.1.add(block, device: Int32(device + 1), stream: Int32(source % Self.streams.count))
        }
        try files.0.close()
        try files.1.close()
    }

    private static func block(of stream: SensorStream, device: Int, first: Int, count: Int) -> SampleBlock {
        var columns: [[Double]] = []
        for axis in 0..<3 {
            columns.append(
                (first..<first + count).map { index in
                    let phase = Double(index) / 100 * 1.9 * 2 * .pi + Double(device + axis)
                    let swing = 0.3 * sin(phase) + 0.1 * sin(2 * phase)
                    return ((swing + 0.002 * noise(index, axis, device)) * 10_000).rounded() / 10_000
                })
        }
        let begin: Int64 = 1_760_000_000_000_000
        return SampleBlock(
            stream: stream, times: (first..<first + count).map { begin + Int64($0) * 10_000 }, columns: columns)
    }

    /// Returns a deterministic pseudo-random number, uniform from −1 to 1.
    static func noise(_ index: Int, _ axis: Int, _ device: Int) -> Double {
        var bits = UInt64(bitPattern: Int64(index &* 1_000_003 &+ axis &* 7919 &+ device &* 104_729))
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((bits ^ (bits >> 31)) >> 11) / Double(1 << 52) - 1
    }
}
