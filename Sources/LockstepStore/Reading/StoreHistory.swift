public import LockstepModel

/// A device's past as a store has it: complete up to what its agent still has to deliver.
public struct StoreHistory: SampleHistory {
    public let path: String
    public let device: DeviceAddress

    public init(path: String, device: DeviceAddress) {
        self.path = path
        self.device = device
    }

    /// - Throws: ``StoreError``
    public func samples(of stream: SensorStream, from: Timestamp, to: Timestamp) throws -> SampleBlock {
        var block = SampleBlock(stream: stream)
        // A reader belongs to one thread; opening one costs far less than a query.
        try StoreReader(path: path).query(
            stream: stream, group: device.group, devices: [device.device], from: from, to: to + 1
        ) { block.append(time: $0.time, values: $0.values) }
        return block
    }
}
