import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep simulate", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct SimulateTests {
    /// The part of the report that these tests check.
    private struct Report: Decodable {
        struct Amount: Decodable, Equatable {
            var batches: Int
            var samples: Int
        }
        struct Collectors: Decodable {
            var stored: Int
            var duplicates: Int
            var restarts: Int
        }
        struct Lag: Decodable {
            var count: Int
            var p50: Double?
            var p99: Double?
            var max: Double?
        }
        struct Memory: Decodable {
            var first: Int?
            var last: Int?
            var series: [[Int]]
        }
        var complete: Bool
        var devices: Int
        var connections: Int
        var sent: Amount
        var acknowledged: Amount
        var lost: Amount
        var confirmed: Int
        var collectors: Collectors
        var lagMs: [String: Lag]
        var lateMs: Lag
        var memory: [String: Memory]
    }

    private func simulate(_ system: TestSystem, _ arguments: [String]) throws -> RunningProgram {
        try system.start(
            "lockstep", ["simulate", "--broker", system.broker.url, "--json", "--patience", "120"] + arguments)
    }

    private func report(of program: RunningProgram) async throws -> Report {
        let status = await program.waitForExit(within: .seconds(300))
        try #require(status == 0, "\(program.text)")
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Report.self, from: Data(program.text.utf8))
    }

    /// The number of devices and stored samples of the simulated group.
    private func stored(in system: TestSystem) async throws -> (devices: Int, samples: Int) {
        let devices = try await system.reader().devices().filter { $0.address.group.rawValue == "simulated" }
        return (devices.count, Int(devices.reduce(0) { $0 + $1.samples }))
    }

    @Test("every sample is stored once, and the report has their times and the memory of all programs")
    func storedOnce() async throws {
        let (devices, connections) = (200, 4)
        try await withSystem(brokerSettings: ["sys_interval 1"]) { system in
            let collector = try system.startCollector()
            #expect(await collector.waitForOutput("connected to"))
            let report = try await report(
                of: simulate(
                    system,
                    [
                        "--devices", "\(devices)", "--connections", "\(connections)", "--seconds", "3", "--sample-rate",
                        "5",
                        "--streams", "motion/accelerometer,steps", "--backlog", "4",
                    ]))
            // Two streams, seven windows of five samples.
            let all = Report.Amount(batches: devices * 14, samples: devices * 70)
            #expect(report.complete && report.devices == devices && report.connections == connections)
            #expect(report.sent == all && report.acknowledged == all && report.lost.batches == 0)
            #expect(report.confirmed >= all.batches && report.collectors.stored == all.samples)
            let live = try #require(report.lagMs["live"])
            let backlog = try #require(report.lagMs["backlog"])
            #expect(live.count == devices * 6 && backlog.count == devices * 8)
            #expect(try #require(live.p50) <= #require(live.p99) && #require(live.p99) <= #require(live.max))
            for name in ["collector default/main", "broker", "simulator"] {
                let memory = try #require(report.memory[name], "\(report.memory.keys)")
                #expect(try #require(memory.last) > 0 && !memory.series.isEmpty)
            }
            let found = try await stored(in: system)
            #expect(found == (devices, all.samples))
        }
    }

    @Test("devices re-send missing batches after the collector is killed")
    func killedCollector() async throws {
        try await withSystem { system in
            let first = try system.startCollector()
            #expect(await first.waitForOutput("connected to"))
            let simulation = try simulate(
                system, ["--devices", "60", "--connections", "6", "--seconds", "8", "--sample-rate", "5"])
            let reader = try await system.reader()
            try await expectEventually { try reader.devices().reduce(0) { $0 + $1.samples } > 600 }
            await first.stop(SIGKILL)
            let second = try system.startCollector()
            #expect(await second.waitForOutput("connected to"))
            let report = try await report(of: simulation)
            #expect(report.acknowledged == .init(batches: 480, samples: 2400) && report.lost.batches == 0)
            #expect(report.collectors.restarts == 1)
            let found = try await stored(in: system)
            #expect(found == (60, 2400))
        }
    }

    @Test("after an interruption while the broker is away, devices connect again and send all complete batches")
    func interruptedInOutage() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            #expect(await collector.waitForOutput("connected to"))
            let simulation = try simulate(
                system, ["--devices", "40", "--connections", "4", "--seconds", "600", "--window", "0.1"])
            let reader = try await system.reader()
            try await expectEventually { try reader.devices().reduce(0) { $0 + $1.samples } > 400 }
            await system.broker.stop(SIGKILL)
            // While an agent fills its journal, simulated devices complete batches that they cannot send.
            _ = try system.startAgent("walker")
            let path = system.outbox(of: "walker")
            await expectEventually {
                // The agent creates the file first.
                let outbox = try? SQLiteDatabase(path: path, mode: .readOnly)
                return (try? outbox?.integer("SELECT count(*) FROM journal")) ?? 0 > 10
            }
            simulation.signal(SIGTERM)
            try await system.broker.start()
            let report = try await report(of: simulation)
            #expect(report.complete && report.sent.batches == report.lateMs.count)
            #expect(report.acknowledged == report.sent)
            let found = try await stored(in: system)
            #expect(found == (40, report.sent.samples))
            let epochs = try reader.verification().filter { $0.address.group.rawValue == "simulated" }.flatMap(\.epochs)
            #expect(epochs.count == 40 && epochs.allSatisfy(\.gaps.isEmpty))
        }
    }

    @Test("after an interruption, backlog that was not sent does not count as lost")
    func interruptedBacklog() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            #expect(await collector.waitForOutput("connected to"))
            let simulation = try simulate(
                system, ["--devices", "5", "--seconds", "600", "--backlog", "3600", "--backlog-rate", "2K"])
            let reader = try await system.reader()
            try await expectEventually { try reader.devices().reduce(0) { $0 + $1.samples } > 200 }
            simulation.signal(SIGTERM)
            let report = try await report(of: simulation)
            #expect(report.complete && report.acknowledged == report.sent && report.sent.batches < 5 * 3600)
            let backlog = try #require(report.lagMs["backlog"])
            #expect(backlog.count > 0 && report.sent.batches == report.lateMs.count + backlog.count)
            let found = try await stored(in: system)
            #expect(found == (5, report.sent.samples))
        }
    }

    @Test("one process can hold 1,100 connections, more than libmosquitto's own loop supports")
    func manyConnections() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            #expect(await collector.waitForOutput("connected to"))
            let report = try await report(
                of: simulate(system, ["--devices", "1100", "--seconds", "2", "--sample-rate", "1"]))
            #expect(report.connections == 1100 && report.acknowledged.batches == 2200)
            let found = try await stored(in: system)
            #expect(found == (1100, 2200))
        }
    }

    @Test("samples that were not stored are reported, and the exit code is 1")
    func notStored() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            #expect(await collector.waitForOutput("connected to"))
            let simulation = try system.start(
                "lockstep",
                ["simulate", "--broker", system.broker.url, "--devices", "5", "--seconds", "8", "--patience", "3"])
            let reader = try await system.reader()
            try await expectEventually { try reader.devices().count == 5 }
            await collector.stop(SIGKILL)
            #expect(await simulation.waitForExit() == 1)
            #expect(simulation.text.contains("\nlost ") && simulation.text.contains("samples not stored"))
        }
    }

    @Test("without a broker or a collector, the error says which one to start")
    func nobodyThere() async throws {
        let none = try await RunningProgram.run(
            Programs.built("lockstep"), ["simulate", "--broker", "mqtt://127.0.0.1:1"])
        #expect(none.status == 1 && none.text.contains("cannot connect to mqtt://127.0.0.1:1: Connection refused"))
        try await withSystem { system in
            let run = try await RunningProgram.run(
                Programs.built("lockstep"), ["simulate", "--broker", system.broker.url])
            #expect(run.status == 1 && run.text.contains("no collector is online"), "\(run.text)")
        }
    }

    @Test(
        "an invalid option is refused with the valid values",
        arguments: [
            (["--devices", "0"], "--devices must be from 1 to 100000"),
            (["--connections", "101"], "--connections must be from 1 to --devices"),
            (["--minutes", "1", "--seconds", "1"], "not both"),
            (["--streams", ","], "--streams requires at least one stream"),
            (["--sample-rate", "0"], "--sample-rate must be from 0.001 to 10000"),
            (["--sample-rate", "10000", "--window", "2"], "must be at most 10000"),
            (["--streams", "telepathy"], "unknown stream 'telepathy'; known streams: motion/accelerometer"),
        ])
    func wrongOption(arguments: [String], reason: String) async throws {
        let run = try await RunningProgram.run(Programs.built("lockstep"), ["simulate"] + arguments)
        #expect(run.status != 0 && run.text.contains(reason), "\(run.text)")
    }
}
