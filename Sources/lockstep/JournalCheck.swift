import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// Compares what an agent's journal says it accepted with what the store has.
struct JournalCheck {
    struct Outcome {
        let device: DeviceAddress
        var accepted = 0
        var stored = 0
        var missing: [Finding] = []
        var different: [Finding] = []
    }

    /// Samples of one batch that are not as the journal has them.
    struct Finding {
        let stream: SensorStream
        let seq: Int64
        let times: [Int64]
    }

    private let path: String
    private let device: DeviceAddress

    /// - Parameter specification: `[[GROUP/]DEVICE=]OUTBOX`; without a device, the one whose epochs the journal has.
    init(specification: String, devices: [DeviceVerification]) throws {
        if let equals = specification.lastIndex(of: "="), equals != specification.startIndex {
            path = String(specification[specification.index(after: equals)...])
            let parts = specification[..<equals].split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count <= 2 else {
                throw CommandFailure("--journal \(specification): write GROUP/DEVICE=PATH, DEVICE=PATH or PATH")
            }
            device = DeviceAddress(
                group: parts.count == 2 ? try GroupID(validating: String(parts[0])) : .standard,
                device: try DeviceID(validating: String(parts[parts.count - 1])))
        } else {
            path = specification
            device = try Self.device(of: specification, among: devices)
        }
    }

    func run(_ reader: StoreReader) throws -> Outcome {
        var outcome = Outcome(device: device)
        try Journal.read(path: path) { batch in
            let comparison = try reader.compare(batch.samples, of: device)
            outcome.accepted += batch.samples.count
            outcome.stored += comparison.present
            let seq = batch.position?.seq ?? 0
            if !comparison.missing.isEmpty {
                outcome.missing.append(Finding(stream: batch.samples.stream, seq: seq, times: comparison.missing))
            }
            if !comparison.different.isEmpty {
                outcome.different.append(Finding(stream: batch.samples.stream, seq: seq, times: comparison.different))
            }
        }
        return outcome
    }

    private static func device(of path: String, among devices: [DeviceVerification]) throws -> DeviceAddress {
        var epochs: Set<Epoch> = []
        try Journal.read(path: path) { batch in
            if let position = batch.position { epochs.insert(position.epoch) }
        }
        let owners = devices.filter { device in device.epochs.contains { epochs.contains($0.epoch) } }
        guard owners.count == 1, let owner = owners.first else {
            throw CommandFailure(
                epochs.isEmpty
                    ? "\(path) has an empty journal: was its agent run with --journal?"
                    : "the store has no batch of the agent of \(path), or of several devices: name it with GROUP/DEVICE=\(path)"
            )
        }
        return owner.address
    }
}
