import Foundation
import LockstepStore

/// The speed of a collector that stores messages as rows.
struct IngestBenchmarks {
    /// Folder of the built programs.
    let programs: String
    let python: String
    let scripts: String
    /// Durability of commits on all sides that store.
    let sync: String
    let rounds: Int
    /// The length of a round, as a fraction of its usual length.
    let length: Double

    private static let rowMetrics = [
        Metric(name: "rows", unit: "rows/s"), Metric(name: "CPU", unit: "µs/row", digits: 3),
    ]

    /// Compares batches of 100 samples from 100 devices with a C program that inserts the same rows without MQTT.
    func batches() throws -> [Comparison] {
        try withFolder { folder in
            let load = try IngestLoad(
                devices: 100, messages: Int(15_000 * length), size: 100, in: folder, named: "load")
            return try compare(
                "ingest-batches", Self.rowMetrics, rounds: rounds,
                [
                    Contender(name: "lockstep-collector, MQTT, JSON") { try ingest(load) },
                    Contender(name: "C, rows only") { try insertRows(of: load) },
                ])
        }
    }

    /// Compares messages of one sample from 100 devices with a Python collector and a C subscriber that only counts.
    func small() throws -> [Comparison] {
        try withFolder { folder in
            let load = try IngestLoad(devices: 100, messages: Int(200_000 * length), size: 1, in: folder, named: "load")
            return try compare(
                "ingest-small",
                [
                    Metric(name: "messages", unit: "messages/s"),
                    Metric(name: "CPU", unit: "µs/message", digits: 2),
                ], rounds: rounds,
                [
                    Contender(name: "lockstep-collector") { try ingest(load) },
                    Contender(name: "Python, stores") {
                        try subscribe(to: load) { port, client, folder in
                            try Launched.time(
                                python,
                                ["\(scripts)/collect.py", port, client, "\(load.messages)", folder + "/rows.db", sync])
                        }
                    },
                    Contender(name: "C, only counts") {
                        try subscribe(to: load) { port, client, _ in
                            try Launched.time(Launched.beside("count-messages"), [port, client, "\(load.messages)"])
                        }
                    },
                ])
        }
    }

    /// Compares samples of which the store already has all or half, with new samples.
    func replay() throws -> [Comparison] {
        try withFolder { folder in
            let messages = Int(9900 * length)
            let all = try IngestLoad(devices: 100, messages: messages, size: 100, in: folder, named: "all")
            let half = try IngestLoad(devices: 100, messages: messages, size: 50, in: folder, named: "half")
            return try compare(
                "ingest-replay", Self.rowMetrics, rounds: rounds,
                [
                    Contender(name: "all duplicates") { try ingest(all, after: all) },
                    Contender(name: "half duplicates") { try ingest(all, after: half) },
                    Contender(name: "new") { try ingest(all) },
                ])
        }
    }

    /// Compares collectors with 100 rules, with one and with none, for batches of 100 samples from 100 devices.
    func rules() throws -> [Comparison] {
        try withFolder { folder in
            let load = try IngestLoad(
                devices: 100, messages: Int(15_000 * length), size: 100, in: folder, named: "load")
            // The values of the load are from about -0.4 to 0.4.
            let stored = { (number: Int) in "value: accelerometer.x, above: \(1 + number), clear: 0.5, for: 1s" }
            let other = { (number: Int) in "value: pressure.pressure, above: \(1 + number)" }
            return try compare(
                "rules", Self.rowMetrics, rounds: rounds,
                [
                    Contender(name: "100 rules on a stored stream") {
                        try ingest(load, rules: try ruleFile(100, in: folder, stored))
                    },
                    Contender(name: "100 rules on another stream") {
                        try ingest(load, rules: try ruleFile(100, in: folder, other))
                    },
                    Contender(name: "1 rule on a stored stream") {
                        try ingest(load, rules: try ruleFile(1, in: folder, stored))
                    },
                    Contender(name: "no rules") { try ingest(load) },
                ])
        }
    }

    private func ruleFile(_ count: Int, in folder: String, _ condition: (Int) -> String) throws -> String {
        let lines = (0..<count).map { "  rule-\($0): {when: {\(condition($0))}}\n" }
        let path = folder + "/rules.yaml"
        try ("rules:\n" + lines.joined()).write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// - Parameter earlier: Samples that are stored before the measurement.
    private func ingest(_ load: IngestLoad, after earlier: IngestLoad? = nil, rules: String? = nil) throws -> [Double] {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            let run = IngestRun(
                programs: programs, sync: sync, broker: broker, store: folder + "/store.db",
                options: rules.map { ["--rules", $0] } ?? [])
            if let earlier { _ = try run.run(earlier) }
            let effort = try run.run(load)
            return [effort.rate, effort.cpuEach]
        }
    }

    private func insertRows(of load: IngestLoad) throws -> [Double] {
        try withFolder { folder in
            let store = folder + "/store.db"
            // Creates the store and closes the file.
            _ = try SQLiteStore(path: store)
            let effort = try Launched.time(Launched.beside("insert-rows"), [store, load.rowFile, sync])
            return [effort.rate, effort.cpuEach]
        }
    }

    private func subscribe(
        to load: IngestLoad, _ body: (_ port: String, _ client: String, _ folder: String) throws -> Effort
    ) throws -> [Double] {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            try broker.keepMessages(for: "other-side")
            try Launched.run(Launched.beside("publish-load"), ["\(broker.port)", load.messageFile])
            let effort = try body("\(broker.port)", "other-side", folder)
            return [effort.rate, effort.cpuEach]
        }
    }
}
