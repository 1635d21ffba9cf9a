import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepWire

extension Diagnosis {
    /// Two collectors with one id disconnect each other, and each of their stores lacks a part of the samples.
    var sharedIDs: [Finding] {
        observations.collectorStores.filter { $0.value.count > 1 }.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            Finding(
                .failure, "collector \($0)",
                "two collectors use this id with different stores: " + $1.map(Self.place).joined(separator: " and "),
                "stop one of them, or give it its own --id; each store lacks the batches that the other one has received"
            )
        }
    }

    /// The store that was given on the command line, if the collectors that are running write to other ones.
    var unusedStore: Finding? {
        guard let location = observations.storeLocation else { return nil }
        let used = observations.collectors.filter { $0.value.status != .offline }.sorted { $0.key < $1.key }
        // A collector that does not name its store may write to this one.
        guard !used.isEmpty, used.allSatisfy({ $0.value.store.map { !isSame($0, location) } ?? false }) else {
            return nil
        }
        let others = used.compactMap { name, health in health.store.map { "\(name) writes to \(Self.place($0))" } }
        return Finding(
            .warning, "store",
            "no running collector writes to \(location.name.printable): \(others.joined(separator: ", "))",
            "if this is the store of your collector, look for 'another collector' in its log: another one with the same "
                + "--id may have replaced it; a copy of a store, or a store on another machine, is not expected to be used"
        )
    }

    /// Whether a store is probably the one at a location. Its id may change when its file system is mounted again.
    private func isSame(_ store: CollectorHealth.Store, _ location: StoreLocation) -> Bool {
        store.id == location.id || store.name == location.name && store.host == location.host
    }

    private static func place(_ store: CollectorHealth.Store) -> String {
        "\(store.name.printable) on \(store.host.printable)"
    }
}
