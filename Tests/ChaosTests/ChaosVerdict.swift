import Foundation
import LockstepAgent
import LockstepModel
import LockstepStore
import LockstepTestSupport

/// The comparison of everything that the agents have accepted, by their journals, with what is stored at the end.
///
/// When a store is replaced by an older copy, what agents have deleted since is gone. So a sample may be missing if one of the
/// replaced stores has it, but never otherwise, and `lockstep verify` has to report it.
struct ChaosVerdict {
    /// The samples of the journals, by stream and time. A clock that was set back can lead to a time twice.
    private(set) var accepted = 0
    /// The rows of the store.
    private(set) var rows: Int64 = 0
    /// The samples that are stored.
    private(set) var stored = 0
    /// The samples that are not stored, as `lockstep verify` counts them.
    private(set) var missing = 0
    /// Those of them that a replaced store has.
    private(set) var replaced = 0
    /// The batches of these samples, and those of them that a store without journals does not show as missing.
    private(set) var replacedBatches = 0
    private(set) var silentBatches = 0
    /// What must not happen.
    private(set) var faults: [String] = []

    var summary: String {
        "\(accepted) samples accepted, \(stored) stored, \(replaced) only in replaced stores, \(faults.count) faults"
            + (silentBatches > 0
                ? "; without journals, \(silentBatches) of \(replacedBatches) batches in replaced stores are not reported"
                : "")
    }

    init(of chaos: ChaosSystem) async throws {
        let reader = try await chaos.system.reader()
        let replacedStores = try chaos.replacedStores.map { try StoreReader(path: $0) }
        let verifications = try reader.verification()
        for device in ChaosSystem.devices {
            let address = DeviceAddress(group: .standard, device: DeviceID(unchecked: device))
            guard let verification = verifications.first(where: { $0.address == address }) else {
                faults.append("\(device) is not in the store")
                continue
            }
            try compare(
                address, journal: chaos.system.outbox(of: device), verification, in: reader, replaced: replacedStores)
        }
        if let other = try? StoreReader(path: chaos.otherStore) {
            for device in try other.devices() where device.address.group == .standard {
                faults.append("\(device.samples) samples of \(device.address) are in the store of another group")
            }
        }
    }

    private mutating func compare(
        _ device: DeviceAddress, journal: String, _ verification: DeviceVerification, in reader: StoreReader,
        replaced replacedStores: [StoreReader]
    ) throws {
        var times: [SensorStream: [Int64: Int]] = [:]
        var present: [SensorStream: Set<Int64>] = [:]
        var different: [SensorStream: [Int64]] = [:]
        var lost: [String] = []
        try Journal.read(path: journal) { batch in
            let stream = batch.samples.stream
            for time in batch.samples.times { times[stream, default: [:]][time, default: 0] += 1 }
            let comparison = try reader.compare(batch.samples, of: device)
            present[stream, default: []].formUnion(Set(batch.samples.times).subtracting(comparison.missing))
            different[stream, default: []] += comparison.different
            guard !comparison.missing.isEmpty else { return }
            self.missing += comparison.missing.count
            var missing = Set(comparison.missing)
            for store in replacedStores where !missing.isEmpty {
                missing.formIntersection(try store.compare(batch.samples, of: device).missing)
            }
            replaced += comparison.missing.count - missing.count
            if missing.isEmpty {
                replacedBatches += 1
                let epoch = verification.epochs.first { $0.epoch == batch.position?.epoch }
                if let seq = batch.position?.seq, epoch?.gaps.contains(seq) != true { silentBatches += 1 }
            } else {
                lost.append(
                    "\(batch.position.map { "\($0.epoch) \($0.seq)" } ?? "?"): \(missing.count) of \(stream.name)")
            }
        }
        if !lost.isEmpty {
            faults.append(
                "\(device) lost samples of \(lost.count) batches: \(lost.prefix(10).joined(separator: "; "))")
        }
        let deviceRows = verification.samples.reduce(0) { $0 + $1.count }
        let devicePresent = present.values.reduce(0) { $0 + $1.count }
        if deviceRows != devicePresent {
            faults.append("\(device) has \(deviceRows) rows for \(devicePresent) samples of its journal")
        }
        // A clock that was set back can lead to two samples of one time, of which the first stays.
        let wrong = different.reduce(0) { sum, entry in
            sum + entry.value.count { times[entry.key]?[$0] ?? 0 < 2 }
        }
        if wrong > 0 { faults.append("\(device) has \(wrong) samples with other values than its journal") }
        accepted += times.values.reduce(0) { $0 + $1.count }
        stored += devicePresent
        rows += deviceRows
        // A run with few samples proves nothing. There are three streams at 100 Hz.
        if deviceRows < 1000 { faults.append("\(device) has only \(deviceRows) samples") }
    }
}
