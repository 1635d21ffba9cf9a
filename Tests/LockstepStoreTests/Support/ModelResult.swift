import LockstepModel

@testable import LockstepStore

/// The result that a store must return for a transaction, by device and epoch.
struct ModelResult {
    var devices: [DeviceAddress: IngestResult.Counts] = [:]
    var received: [DeviceEpoch: SequenceSet] = [:]

    static func == (left: IngestResult, right: ModelResult) -> Bool {
        left.devices == right.devices && left.received == right.received
    }
}
