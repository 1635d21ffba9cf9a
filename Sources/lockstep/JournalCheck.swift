import Glibc
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
    private let streams: StreamCatalog

    /// - Parameter specification: `[[GROUP/]DEVICE=]OUTBOX`; without a device, the one whose epochs the journal has.
    /// - Throws: ``CommandFailure`` or an `OutboxError`; also where the journal is empty, since it would prove nothing.
    init(specification: String, devices: [DeviceVerification], streams: StreamCatalog) throws {
        self.streams = streams
        let named = try Self.split(specification)
        path = named.path
        guard access(path, F_OK) == 0 else {
            throw CommandFailure("--journal \(specification): there is no file '\(path)'")
        }
        let epochs = try Self.epochs(in: path, streams)
        guard !epochs.isEmpty else {
            throw CommandFailure("\(path) has an empty journal: was its agent run with --journal?")
        }
        device = try named.device ?? Self.owner(of: epochs, in: path, among: devices)
    }

    func run(_ reader: StoreReader) throws -> Outcome {
        var outcome = Outcome(device: device)
        try Journal.read(path: path, streams: streams) { batch in
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

    private static func split(_ specification: String) throws -> (device: DeviceAddress?, path: String) {
        guard let equals = specification.firstIndex(of: "=") else { return (nil, specification) }
        let parts = specification[..<equals].split(separator: "/", omittingEmptySubsequences: false)
        let path = String(specification[specification.index(after: equals)...])
        guard parts.count <= 2, !path.isEmpty,
            let group = parts.count == 2 ? GroupID(rawValue: String(parts[0])) : .standard,
            let device = parts.last.flatMap({ DeviceID(rawValue: String($0)) })
        else {
            throw CommandFailure("--journal \(specification): write GROUP/DEVICE=PATH, DEVICE=PATH or PATH")
        }
        return (DeviceAddress(group: group, device: device), path)
    }

    private static func epochs(in path: String, _ streams: StreamCatalog) throws -> Set<Epoch> {
        var epochs: Set<Epoch> = []
        do {
            try Journal.read(path: path, streams: streams) { batch in
                if let position = batch.position { epochs.insert(position.epoch) }
            }
        } catch {
            throw CommandFailure("--journal takes an agent's outbox; is '\(path)' one? \(error)")
        }
        return epochs
    }

    private static func owner(
        of epochs: Set<Epoch>, in path: String, among devices: [DeviceVerification]
    ) throws -> DeviceAddress {
        let owners = devices.filter { device in device.epochs.contains { epochs.contains($0.epoch) } }
        if owners.count == 1 { return owners[0].address }
        let found = owners.map(\.address.description).joined(separator: ", ")
        throw CommandFailure(
            (owners.isEmpty ? "the store has no batch of the agent of \(path)" : "\(path) may be of \(found)")
                + ": name its device with --journal GROUP/DEVICE=\(path)")
    }
}
