import LockstepModel
import LockstepSQLite

/// The device that an outbox belongs to.
///
/// Batches do not name their device, and their numbers belong to one device. Under another name, the samples would be
/// stored as those of the wrong device, and the numbers before them would be missing for ever.
struct OutboxOwner {
    /// The key in the table `meta`.
    static let key = "device"

    /// The device in the file, as `group/device`; nil in a file of a version that did not record it.
    let recorded: String?
    /// The number of batches that are not acknowledged.
    let pending: Int64
    /// Whether the file has a journal.
    let hasJournal: Bool

    /// Returns the previous device if a delivered outbox is used for another one, or nil if it belongs to `device`.
    /// - Throws: ``ForeignOutboxError`` if the file has content of the previous device.
    func previous(for device: DeviceAddress) throws(ForeignOutboxError) -> String? {
        guard let recorded, recorded != "\(device)" else { return nil }
        guard pending == 0, !hasJournal else {
            throw ForeignOutboxError(owner: recorded, pending: pending, device: "\(device)")
        }
        return recorded
    }
}

/// The error for an outbox with batches of another device.
struct ForeignOutboxError: Error, Hashable {
    /// The device that the outbox belongs to.
    let owner: String
    /// The number of its batches that are not acknowledged; 0 if the file only has its journal.
    let pending: Int64
    /// The device of the agent.
    let device: String

    func description(path: String) -> String {
        guard pending > 0 else {
            return
                "the outbox '\(path)' has the journal of \(owner), not of \(device). Use another --outbox for \(device)."
        }
        let parts = owner.split(separator: "/")
        return "the outbox '\(path)' belongs to \(owner), and \(counted(Int(pending), "batch", "batches")) of it "
            + "\(pending == 1 ? "is" : "are") not delivered. Deliver \(pending == 1 ? "it" : "them") first: "
            + "lockstep-agent --group \(parts.first ?? "") --device \(parts.last ?? "") --source none --outbox '\(path)' "
            + "(and --broker as usual). Or use another --outbox for \(device)."
    }
}

extension Outbox {
    /// Continues a delivered outbox for another device: in a new epoch, and without what was dropped of the previous one.
    func handOver(to device: DeviceAddress, clock: OutboxClock) throws {
        let next = Epoch.random()
        try database.transaction {
            try statements.setMeta(OutboxOwner.key, "\(device)")
            try statements.beginEpoch(next, base: lastID, after: epoch, seq: 0)
            try statements.setClock(clock)
            // The epochs before are those of the other device, and so is what was dropped of them.
            try database.execute("DELETE FROM meta WHERE key = 'previous_epoch'; DELETE FROM dropped")
            try statements.setMeta("dropped_samples", 0)
            try statements.removeNewestTimes()
        }
        didStartEpoch(next, seq: 0)
        newest = [:]
        previousEpoch = nil
        droppedSamples = 0
    }
}
