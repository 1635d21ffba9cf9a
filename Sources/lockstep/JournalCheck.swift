import Glibc
import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// Compares the samples in an agent's journal with the store.
struct JournalCheck {
    struct Outcome {
        let device: DeviceAddress
        var accepted = 0
        /// The number of these samples that are stored with the same values.
        var stored = 0
        /// The number of these samples that have left the store by the rules of retention.
        var expired = 0
        /// The number of these samples that a person has deleted.
        var deleted = 0
        /// The batches with samples that are not stored.
        var missing: [Mismatch] = []
        /// The batches with samples that are stored with other values.
        var different: [Mismatch] = []
    }

    /// The samples of one batch that differ from the journal.
    struct Mismatch {
        let stream: SensorStream
        let seq: Int64
        /// The times of these samples, in µs since 1970.
        let times: [Int64]
    }

    private let path: String
    private let device: DeviceAddress
    private let streams: StreamCatalog

    /// Opens a journal for checking.
    /// - Parameters:
    ///   - specification: `[[GROUP/]DEVICE=]OUTBOX`; without a device, the device is found by the journal's epochs.
    ///   - devices: the verified devices.
    ///   - selection: the addresses of the devices that a journal may belong to, or nil for any.
    ///   - streams: the streams in the store.
    /// - Throws: ``CommandFailure`` or an `OutboxError` for an invalid or empty journal. An empty journal proves
    ///   nothing.
    init(
        specification: String, devices: [DeviceVerification], selection: Set<DeviceAddress>? = nil,
        streams: StreamCatalog
    ) throws {
        self.streams = streams
        let named = try Self.split(specification)
        path = named.path
        guard access(path, F_OK) == 0 else {
            throw CommandFailure("--journal \(specification): the file '\(path)' does not exist")
        }
        let epochs = try Self.epochs(in: path, streams)
        guard !epochs.isEmpty else {
            throw CommandFailure("the journal in \(path) is empty: run the agent with --journal")
        }
        let known = devices.map(\.address)
        // A journal of a device that has stored nothing is compared, too.
        device =
            try named.device.map { argument in
                known.contains(where: argument.selects)
                    ? try argument.onlyAddress(among: known, option: "--journal ") : argument.address
            } ?? Self.owner(of: epochs, in: path, among: devices, isSelection: selection != nil)
        guard selection?.contains(device) ?? true else {
            throw CommandFailure(
                "--journal \(specification): \(device) is not one of the devices given by --device: add it, or leave out "
                    + "this journal")
        }
    }

    /// Looks up and compares every sample of the journal.
    /// - Parameter update: called after each batch.
    func run(_ reader: StoreReader, update: (Outcome) -> Void = { _ in }) throws -> Outcome {
        var outcome = Outcome(device: device)
        try Journal.read(path: path, streams: streams) { batch in
            let comparison = try reader.compare(batch.samples, of: device)
            outcome.accepted += batch.samples.count
            outcome.stored += comparison.present
            outcome.expired += comparison.expired
            outcome.deleted += comparison.deleted
            let seq = batch.position?.seq ?? 0
            if !comparison.missing.isEmpty {
                outcome.missing.append(Mismatch(stream: batch.samples.stream, seq: seq, times: comparison.missing))
            }
            if !comparison.different.isEmpty {
                outcome.different.append(Mismatch(stream: batch.samples.stream, seq: seq, times: comparison.different))
            }
            update(outcome)
        }
        return outcome
    }

    /// Splits a specification at its first "=", which a device cannot contain. A device does not start with "/", so an
    /// absolute path may contain "=".
    private static func split(_ specification: String) throws -> (device: DeviceArgument?, path: String) {
        guard !specification.hasPrefix("/"), let equals = specification.firstIndex(of: "=") else {
            return (nil, specification)
        }
        let path = String(specification[specification.index(after: equals)...])
        guard !path.isEmpty, let device = try? DeviceArgument(parsing: String(specification[..<equals])) else {
            throw CommandFailure("--journal \(specification): use GROUP/DEVICE=PATH, DEVICE=PATH or PATH")
        }
        return (device, path)
    }

    private static func epochs(in path: String, _ streams: StreamCatalog) throws -> Set<Epoch> {
        var epochs: Set<Epoch> = []
        do {
            try Journal.read(path: path, streams: streams) { batch in
                if let position = batch.position { epochs.insert(position.epoch) }
            }
        } catch let error as OutboxError where error.isNotAnOutbox {
            throw CommandFailure("--journal: '\(path)' is not the outbox of an agent: give the file of its --outbox")
        } catch {
            throw CommandFailure("--journal: '\(path)' is not the outbox of an agent: \(error)")
        }
        return epochs
    }

    private static func owner(
        of epochs: Set<Epoch>, in path: String, among devices: [DeviceVerification], isSelection: Bool
    ) throws -> DeviceAddress {
        let owners = devices.filter { device in device.epochs.contains { epochs.contains($0.epoch) } }
        if owners.count == 1 { return owners[0].address }
        let found = owners.map(\.address.description).joined(separator: ", ")
        let none = isSelection ? "no device given by --device has" : "the store has no"
        throw CommandFailure(
            (owners.isEmpty
                ? "\(none) batches of the agent with the outbox \(path)"
                : "\(path) matches several devices: \(found)") + "; specify the device: --journal GROUP/DEVICE=\(path)")
    }
}
