import LockstepModel

/// The numbered batches that were rejected for now and stay with their agents, which are told the reason.
///
/// A device is told at most once in ``minInterval``, because an agent sends all its batches again.
struct RefusedBatches {
    struct Refusal: Equatable {
        let device: DeviceAddress
        let position: BatchPosition
        let reason: String
    }

    /// The minimum time between two messages to a device, in µs.
    static let minInterval: Int64 = 5_000_000
    /// The maximum number of devices, because a client could invent them.
    static let maxDevices = 10_000
    /// The maximum length of a reason, in bytes. It may quote the payload.
    private static let maxReason = 500

    /// The last refusal of each device since the last call of ``take(at:)``.
    private var pending: [DeviceAddress: Refusal] = [:]
    /// The time of the last message to each device, in µs of the boot clock.
    private var sentAt: [DeviceAddress: Int64] = [:]

    mutating func add(_ position: BatchPosition, of device: DeviceAddress, reason: String) {
        guard pending[device] != nil || pending.count < Self.maxDevices else { return }
        pending[device] = Refusal(
            device: device, position: position,
            reason: String(decoding: reason.utf8.prefix(Self.maxReason), as: UTF8.self))
    }

    /// Takes the refusals to publish now. Those of devices that were told a moment ago are discarded: the agent sends the
    /// batches again.
    mutating func take(at boot: Int64) -> [Refusal] {
        guard !pending.isEmpty else { return [] }
        if sentAt.count >= Self.maxDevices { sentAt = sentAt.filter { boot - $0.value < Self.minInterval } }
        defer { pending = [:] }
        return pending.values.sorted { $0.device < $1.device }.filter { refusal in
            guard boot - (sentAt[refusal.device] ?? .min / 2) >= Self.minInterval, sentAt.count < Self.maxDevices else {
                return false
            }
            sentAt[refusal.device] = boot
            return true
        }
    }
}
