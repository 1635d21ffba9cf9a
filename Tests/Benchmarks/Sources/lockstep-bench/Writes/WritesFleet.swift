import ArgumentParser
import LockstepModel
import LockstepWire

/// A number of devices that together record `totalRate` accelerometer samples a second.
///
/// Written as `DEVICES`: each sends a message per second, or one per sample if it has less than a sample a second. Or
/// as `DEVICES:SAMPLES`: each message has this number of samples.
struct WritesFleet: Hashable, CustomStringConvertible, ExpressibleByArgument {
    /// The samples a second of all devices.
    static let totalRate = 10_000.0
    /// The fleets that are measured unless others are chosen.
    static let standard = ["5", "100", "1000", "10000", "100000", manySmall.description].compactMap { Self($0) }
    /// Few devices that send as many messages as ``manyDevices``.
    static let manySmall = WritesFleet(devices: 100, samples: 1)
    static let manyDevices = WritesFleet(devices: 10_000, samples: 1)

    let devices: Int
    /// The number of samples of a message.
    let samples: Int

    init(devices: Int, samples: Int) {
        self.devices = devices
        self.samples = samples
    }

    init?(argument: String) { self.init(argument) }

    init?(_ text: String) {
        let numbers = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        guard (1...2).contains(numbers.count), (1...100_000).contains(numbers[0]) else { return nil }
        let samples = numbers.count == 2 ? numbers[1] : max(1, Int(Self.totalRate / Double(numbers[0])))
        // The limit of a batch in the collector.
        guard (1...10_000).contains(samples) else { return nil }
        self.init(devices: numbers[0], samples: samples)
    }

    var description: String { self == Self("\(devices)") ? "\(devices)" : "\(devices):\(samples)" }

    /// The sampling rate of each device, in Hz.
    var rate: Double { Self.totalRate / Double(devices) }
    /// The time from a message of a device to its next one, in µs.
    var window: Double { Double(samples) / rate * 1e6 }
    /// The messages a second of all devices.
    var messageRate: Double { Self.totalRate / Double(samples) }

    /// Returns the number of messages of each device in a time of at least one window.
    func rounds(seconds: Int) -> Int { max(1, Int((Double(seconds) * 1e6 / window).rounded())) }

    /// Returns when a device's message of a round is due, in µs from the start. The windows of different devices end at
    /// evenly distributed times.
    func due(device: Int, round: Int) -> Int64 {
        Int64((Double(round) + Double(device) / Double(devices)) * window)
    }

    /// The address of device `index`, from 0.
    func address(_ index: Int) throws -> DeviceAddress {
        DeviceAddress(
            group: try GroupID(validating: "bench"), device: try DeviceID(validating: "device-\(index)"))
    }

    /// Returns the samples of a device from sample number `first`, which may be negative. Values resemble those of
    /// `lockstep simulate`: uniform from −1 to 1 g, with four decimals.
    /// - Parameter end: The time of the last sample.
    func block(device: Int, first: Int, count: Int, end: Timestamp) -> SampleBlock {
        let columns = (0..<3).map { axis in
            (first..<first + count).map { (IngestLoad.noise($0, axis, device) * 10_000).rounded() / 10_000 }
        }
        let times = (1...count).map { end.microseconds - Int64(Double(count - $0) * 1e6 / rate) }
        return SampleBlock(stream: .accelerometer, times: times, columns: columns)
    }
}
