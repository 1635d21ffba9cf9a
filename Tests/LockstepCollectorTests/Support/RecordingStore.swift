import Foundation
import LockstepModel
import LockstepStore
import Synchronization

@testable import LockstepCollector

/// A store that records what it does.
final class RecordingStore: SampleStore {
    final class Record: Sendable {
        /// The calls that change the store, in order.
        enum Call { case add, commit, maintenance, close }

        let calls = Mutex<[Call]>([])
        /// The times of the groups in the last transaction.
        let committed = Mutex<[Timestamp]>([])
        /// The time of the group that cannot be written.
        let failsAt = Mutex<Timestamp?>(nil)
        /// The number of pieces of maintenance that the store needs.
        let neededPieces = Mutex(0)
        /// Runs at the start of each piece.
        let willMaintain = Mutex<@Sendable () -> Void>({})

        func count(of call: Call) -> Int { calls.withLock { calls in calls.count { $0 == call } } }

        /// The notifications that earlier runs have left.
        let pending = Mutex<[EventDelivery]>([])
        /// The number of times that they cannot be read.
        let failedReads = Mutex(0)
        /// The results of attempts to deliver.
        let updates = Mutex<[DeliveryUpdate]>([])

        fileprivate func append(_ call: Call) { calls.withLock { $0.append(call) } }
    }

    private let record: Record
    private var added: [Timestamp] = []

    init(_ record: Record) { self.record = record }

    func add(_ group: IngestGroup) throws {
        record.append(.add)
        if let time = record.failsAt.withLock({ $0 }), group.seen.values.contains(time) {
            added = []
            throw StoreError(.other, "test failure")
        }
        added += group.seen.values
        record.updates.withLock { $0 += group.deliveries }
    }

    func pendingDeliveries() throws -> [EventDelivery] {
        let fails = record.failedReads.withLock { count in
            defer { count = max(0, count - 1) }
            return count > 0
        }
        if fails { throw StoreError(.other, "test failure") }
        return record.pending.withLock { $0 }
    }

    func commit() throws -> IngestResult {
        record.append(.commit)
        defer { added = [] }
        record.committed.withLock { $0 = added }
        return IngestResult(devices: added.isEmpty ? [:] : [device: .init(stored: added.count)])
    }

    var needsMaintenance: Bool { record.neededPieces.withLock { $0 > 0 } }

    func performMaintenance() {
        record.append(.maintenance)
        let willMaintain = record.willMaintain.withLock { $0 }
        willMaintain()
        record.neededPieces.withLock { $0 -= 1 }
    }

    func lifecycles() -> [DeviceAddress: LifecycleSnapshot] { [:] }

    func close() { record.append(.close) }
}
