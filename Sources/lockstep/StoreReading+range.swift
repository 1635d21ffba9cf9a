import LockstepCommandLine
import LockstepModel
import LockstepStore

extension StoreReading {
    /// Returns the time of the first sample in a time range, or nil if there is none.
    func firstTime(
        of stream: SensorStream, _ device: DeviceAddress, from: Timestamp?, to: Timestamp?
    ) throws -> Timestamp? {
        var first: Timestamp?
        try run(SampleQuery(device: device, stream: stream, from: from, to: to, limit: 1), cancellation: nil) {
            time, _ in
            first = time
        }
        return first
    }

    /// Returns the time of the last sample, or nil if there is none.
    func lastTime(of stream: SensorStream, _ device: DeviceAddress) throws -> Timestamp? {
        var last: Timestamp?
        try run(SampleQuery(device: device, stream: stream, detail: .last), cancellation: nil) { time, _ in last = time
        }
        return last
    }

    /// Checks that a time range has samples.
    ///
    /// - Parameter need: why they are needed.
    /// - Throws: ``CommandFailure`` that states what is missing.
    func checkSamples(
        of stream: SensorStream, _ device: DeviceAddress, from: Timestamp?, to: Timestamp?, need: String
    ) throws {
        guard try firstTime(of: stream, device, from: from, to: to) == nil else { return }
        guard let first = try firstTime(of: stream, device, from: nil, to: nil),
            let last = try lastTime(of: stream, device)
        else { throw CommandFailure("no samples of '\(stream.name)' are stored for \(device): \(need)") }
        throw CommandFailure(
            "no samples of '\(stream.name)' of \(device) in this time range; stored are those from \(first) to \(last)")
    }
}
