public import LockstepModel

/// The outbox of an agent: its only device has the index 0.
///
/// Batches do not name their device, and their numbers belong to one device. Under another name, the samples would be
/// stored as those of the wrong device, and the numbers before them would be missing for ever.
extension Outbox {
    private var device: OutboxDevice { devices[0] }

    /// The current epoch of the agent's device, to which new batches belong.
    public var epoch: Epoch { device.epoch ?? Epoch(unchecked: "") }
    /// The number of samples of the agent's device dropped since the file was created.
    public var droppedSamples: Int64 { device.droppedSamples }
    /// The number of the newest batch of the current epoch, or 0.
    public var lastSeq: Int64 { device.lastSeq ?? 0 }
    /// The numbers of all batches of the agent's device.
    public var pending: [Epoch: SequenceSet] { device.pending }

    /// Returns the previous device if a delivered outbox is used for another one, or nil if it belongs to `device`.
    /// - Throws: ``ForeignOutboxError`` if the file has content of the previous device.
    func previousOwner(for device: DeviceAddress, hasJournal: Bool) throws(ForeignOutboxError) -> String? {
        guard devices.count > 0, self.device.address != device else { return nil }
        let owner = "\(self.device.address)"
        let pending = pending.values.reduce(0) { $0 + $1.count }
        guard pending == 0, !hasJournal else {
            throw ForeignOutboxError(owner: owner, pending: pending, device: "\(device)")
        }
        return owner
    }

    /// Continues a delivered outbox for another device: in a new epoch, and without what was dropped of the previous one.
    func handOver(_ index: Int, to device: DeviceAddress, in contents: inout OutboxContents) throws {
        contents.devices.rename(index, to: device)
        contents.devices[index].droppedSamples = 0
        for epoch in contents.devices[index].epochs.indices {
            contents.devices[index].epochs[epoch].dropped = SequenceSet()
        }
        try sql.run(
            "DELETE FROM dropped WHERE epoch IN (SELECT id FROM epochs WHERE device = ?)",
            .integer(contents.devices[index].id))
        try beginEpoch(of: index, in: &contents)
        // The epochs before are those of the other device.
        contents.devices[index].previousEpoch = nil
        try save(contents.devices[index])
    }
}

/// The error for an outbox with batches of another device.
struct ForeignOutboxError: Error, Hashable {
    /// The device that the outbox belongs to.
    let owner: String
    /// The number of its batches that are not acknowledged; 0 if the file only has its journal.
    let pending: Int64
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
