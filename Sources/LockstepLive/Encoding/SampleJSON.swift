import LockstepModel
import LockstepWire

/// The JSON of samples for subscribers: the members of the wire format, with the names of device and stream.
enum SampleJSON {
    /// Encodes samples.
    static func encode(_ samples: SampleBlock, of address: DeviceAddress) -> [UInt8] {
        var object = JSONObjectWriter(reservingCapacity: 160 + samples.count * (samples.columns.count * 20 + 8))
        object.member("group", address.group.rawValue)
        object.member("device", address.device.rawValue)
        object.member("stream", samples.stream.name)
        object.members(of: samples)
        return object.finish()
    }

    /// Returns the approximate size of samples in JSON, in bytes.
    static func estimatedBytes(of stream: SensorStream) -> Int { 8 + 20 * stream.columns.count }
}
