public import LockstepModel

/// The stored samples of one device. Samples that the agent has not delivered yet are not included.
public struct StoreHistory: SampleHistory {
    /// The path of the store.
    public let path: String
    /// The device.
    public let device: DeviceAddress

    /// Creates the history of `device` in the store at `path`.
    public init(path: String, device: DeviceAddress) {
        self.path = path
        self.device = device
    }

    /// Returns the samples of `stream` from `from` to `to`, both inclusive, in order of time.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func samples(of stream: SensorStream, from: Timestamp, to: Timestamp) throws -> SampleBlock {
        var block = SampleBlock(stream: stream)
        // Open a reader per call, because a reader is limited to one thread. Opening takes far less time than the
        // query.
        try StoreReader(path: path).query(
            stream: stream, group: device.group, devices: [device.device], from: from, to: to + 1
        ) { block.append(time: $0.time, values: $0.values) }
        return block
    }
}
