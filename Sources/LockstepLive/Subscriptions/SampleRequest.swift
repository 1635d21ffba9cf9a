public import LockstepModel

/// The samples that a subscriber wants.
public struct SampleRequest: Sendable {
    /// The valid event rates, in events per second for each device and stream. A rate is reduced to the next of
    /// ``rates``, so that subscribers share events.
    public static let validRates = 0.1...60.0
    /// The event rates that are distinguished.
    public static let rates = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60]

    /// The devices; nil for all, including those that appear later.
    public let devices: Set<DeviceAddress>?
    /// The names of the streams; nil for all.
    public let streams: Set<String>?
    /// The maximum number of events per second for each device and stream.
    public let hz: Double
    /// The index of `hz` in ``rates``.
    let rate: Int

    /// Creates a request.
    /// - Parameters:
    ///   - devices: the devices; nil for all, including those that appear later.
    ///   - streams: the streams; nil for all.
    ///   - hz: the maximum number of events per second for each device and stream. It is limited to ``validRates``.
    public init(devices: Set<DeviceAddress>?, streams: Set<SensorStream>?, hz: Double = 10) {
        self.devices = devices
        self.streams = streams.map { Set($0.map(\.name)) }
        rate = Self.rates.lastIndex { $0 <= hz } ?? 0
        self.hz = Self.rates[rate]
    }

    /// Returns whether a stream of a device is wanted.
    func selects(_ address: DeviceAddress, _ stream: SensorStream) -> Bool {
        devices?.contains(address) ?? true && streams?.contains(stream.name) ?? true
    }
}
