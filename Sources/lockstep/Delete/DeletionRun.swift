import ArgumentParser
import FoundationEssentials
import Glibc
import LockstepClickHouse
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSystem
import LockstepWire

/// Carries out a deletion: in an SQLite store that no collector uses, otherwise by its collector.
struct DeletionRun {
    /// The time that a collector has to store the request.
    private static let patience = Duration.seconds(15)

    private let deletion: Deletion
    /// The number of samples to delete, for the progress.
    private let samples: Int64
    private let reader: StoreReader

    init(_ deletion: Deletion, samples: Int64, reader: StoreReader) {
        self.deletion = deletion
        self.samples = samples
        self.reader = reader
    }

    /// The name of the user, for the table `deletions`.
    static var user: String {
        getpwuid(getuid()).map { String(cString: $0.pointee.pw_name) } ?? "user \(getuid())"
    }

    /// Deletes, and waits until that is done.
    /// - Parameter connection: the connection to the broker, which is used if a collector has the store.
    /// - Returns: the number of deleted samples.
    /// - Throws: ``CommandFailure``, `StoreError`, or an exit code after Ctrl-C.
    func run(on address: StoreAddress, _ connection: ConnectionOptions, _ settings: Settings) throws -> Int64 {
        let interrupt = Interrupt(wakeup: Wakeup())
        var progress = ProgressLine()
        defer { progress.end() }
        if case .sqlite(let path) = address, let store = try open(path) {
            defer { store.close() }
            var group = IngestGroup()
            group.deletions = [deletion]
            try store.write(group)
            // Nobody waits for the maintenance that may follow.
            while try store.needsMaintenance && stored()?.done == nil {
                store.performMaintenance()
                try show(&progress, unless: interrupt, "the next start of the collector, or of this command, goes on")
            }
            guard let stored = try stored(), stored.done != nil else {
                throw CommandFailure(
                    "not all could be deleted from \(path), perhaps because its disk is full or a table is damaged: the collector "
                        + "goes on with its next start")
            }
            return stored.count
        }
        let root = try connection.topicRoot(settings)
        let (link, broker) = try connection.link(settings, for: "delete")
        let exchange = BrokerExchange(link, broker)
        defer { exchange.close() }
        let request = MQTTMessage(
            topic: root.topic(deletion.device, .delete), payload: DeletionJSON.encode(deletion))
        guard try exchange.send(request, until: .now + .seconds(10), for: { exchange.isAccepted }) else {
            throw exchange.isReady
                ? ExchangeError("\(broker): the request was not accepted in 10 s") : exchange.noAnswer
        }
        let deadline = ContinuousClock.now + Self.patience
        while true {
            let stored = try stored()
            if let stored, stored.done != nil { return stored.count }
            if stored == nil, ContinuousClock.now >= deadline {
                throw CommandFailure(
                    "the broker has the request, but no collector has stored it in \(address) yet: check with 'lockstep "
                        + "doctor' that the collector of this store runs. 'lockstep delete --list' shows when it has")
            }
            try show(&progress, unless: interrupt, "the collector goes on")
            usleep(200_000)
        }
    }

    /// Opens the store to change it, or returns nil if a collector uses it.
    private func open(_ path: String) throws -> SQLiteStore? {
        let catalog = try reader.catalog()
        var options = SQLiteStore.Options()
        options.isCollector = false
        do { return try SQLiteStore(path: path, options: options, catalog: catalog) } catch {
            guard error.code == .inUse else { throw error }
            return nil
        }
    }

    private func stored() throws -> StoredDeletion? {
        try reader.deletions(of: deletion.device).last { $0.deletion.id == deletion.id }
    }

    private func show(_ progress: inout ProgressLine, unless interrupt: Interrupt, _ rest: String) throws {
        if let signal = interrupt.signal {
            progress.end()
            Terminal.writeError("interrupted: \(rest)")
            throw ExitCode(128 + signal)
        }
        progress.show("deleting \(percentage(Double((try? stored()?.count) ?? 0) / Double(max(1, samples))))")
    }
}
