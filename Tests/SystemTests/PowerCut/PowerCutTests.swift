import Foundation
import LockstepModel
import LockstepSQLite
import LockstepSensors
import LockstepStore
import LockstepTestSupport
import LockstepWire
import Testing

/// Power cuts of a collector and of an agent while they write.
///
/// A cut kills the program and replaces its database by what a disk is certain to have, with a random part of the
/// unsynced changes. `LOCKSTEP_POWER_CUTS` sets the number of cuts, `LOCKSTEP_CHAOS_SEED` repeats the random choices.
@Suite(
    "Power cuts", .serialized,
    .enabled("mosquitto or clang is not installed") {
        guard Programs.isInstalled("mosquitto") else { return false }
        return await AdjustableClock.isAvailable
    })
struct PowerCutTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// Half of them are cuts of the collector, half of them of the agent.
    private static let cuts = environment["LOCKSTEP_POWER_CUTS"].flatMap { Int($0) } ?? 10
    private static let seed =
        environment["LOCKSTEP_CHAOS_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...999_999)

    @Test("a collector loses no acknowledged sample in a power cut", .timeLimit(.minutes(600)))
    func collector() async throws {
        try await withSystem { system in
            let outcome = try await cutCollector(Self.cuts / 2, [], in: system) { random in
                DiskImage.Survivors.allCases.randomElement(using: &random) ?? .none
            }
            print("power cuts: \(outcome.cuts) of the collector, \(outcome.acknowledged) batches acknowledged")
            #expect(outcome.acknowledged > 0 && outcome.lost == 0, "seed \(Self.seed): \(outcome)")
            try await system.drain("walker")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "seed \(Self.seed): \(verification.text)")
        }
    }

    @Test("with --sync normal, a collector loses acknowledged samples in a power cut, so this test can detect a loss")
    func collectorWithoutSync() async throws {
        try await withSystem { system in
            let outcome = try await cutCollector(2, ["--sync", "normal"], in: system) { _ in .none }
            print("power cuts with --sync normal: \(outcome.lost) of \(outcome.acknowledged) acknowledged batches lost")
            #expect(outcome.lost > 0, "\(outcome)")
            try await system.drain("walker")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 1, "\(verification.text)")
        }
    }

    @Test("an agent loses no published sample in a power cut", .timeLimit(.minutes(600)))
    func agent() async throws {
        try await withSystem { system in
            var random = SeededGenerator(seed: Self.seed)
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect()
            let path = system.outbox(of: "walker")
            var disk = try await LossyDisk(database: path, in: system.folder)
            var published: [BatchPosition: [UInt8]] = [:]
            for cut in 0..<Self.cuts - Self.cuts / 2 {
                disk.begin()
                let wills = count(client, "/presence", #""phase":"lost""#)
                let starts = count(client, "/presence", #""phase":"foreground""#)
                let agent = try system.startAgent(
                    "walker", ["--backlog-rate", "4M"], environment: disk.environment)
                if isEarly(using: &random) {
                    try await wait(200, using: &random)
                    await agent.stop(SIGKILL)
                } else {
                    await expectEventually("\(agent.text)") {
                        count(client, "/presence", #""phase":"foreground""#) > starts
                    }
                    try await wait(1200, using: &random)
                    await agent.stop(SIGKILL)
                    // The broker publishes the last will after everything that the agent has sent.
                    await expectEventually { count(client, "/presence", #""phase":"lost""#) > wills }
                }
                let survivors = DiskImage.Survivors.allCases.randomElement(using: &random) ?? .none
                try disk.cut(survivors: survivors, using: &random)

                let context = "seed \(Self.seed), cut \(cut), \(survivors)"
                for (position, payload) in try batches(client) {
                    // The same number for other samples would hide these from the collector.
                    #expect(published[position, default: payload] == payload, "\(context): \(position)")
                    published[position] = payload
                }
                let held = try journal(at: path, context)
                let lost = published.keys.filter { !held.contains($0) }
                #expect(lost.isEmpty, "\(context): \(lost.count) of \(published.count) published batches are lost")
            }
            print("power cuts: \(Self.cuts - Self.cuts / 2) of the agent, \(published.count) batches published")
            #expect(!published.isEmpty)
            try await system.drain("walker")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "seed \(Self.seed): \(verification.text)")
        }
    }

    // MARK: - Collector

    private struct Outcome {
        var cuts = 0
        var acknowledged = 0
        /// Acknowledged batches that were not in the store after a cut.
        var lost = 0
    }

    /// Cuts the power of a collector while an agent sends, and stops the agent.
    private func cutCollector(
        _ cuts: Int, _ arguments: [String], in system: TestSystem,
        survivors: (inout SeededGenerator) -> DiskImage.Survivors
    ) async throws -> Outcome {
        var random = SeededGenerator(seed: Self.seed)
        var outcome = Outcome()
        var lost: [Epoch: SequenceSet] = [:]
        var disk = try await LossyDisk(database: system.storePath, in: system.folder)
        let client = try await system.connect(["lockstep/+/+/ack", "lockstep/+/$collector/#"])
        let agent = try system.startAgent("walker", ["--backlog-rate", "4M"])
        for cut in 0..<cuts {
            disk.begin()
            let starts = count(client, "/main", #""status":"online""#)
            let wills = count(client, "/main", #""status":"offline""#)
            let collector = try system.start(
                "lockstep-collector",
                ["--broker", system.broker.url, "--store", "sqlite:\(system.storePath)"] + arguments,
                environment: disk.environment)
            if cut > 0, isEarly(using: &random) {
                try await wait(200, using: &random)
                await collector.stop(SIGKILL)
            } else {
                await expectEventually("\(collector.text)\(agent.text)") {
                    count(client, "/main", #""status":"online""#) > starts
                }
                // Of the first run something has to be acknowledged, or the others prove little.
                if cut == 0 { await client.expectMessage { $0.topic.hasSuffix("/ack") } }
                try await wait(1200, using: &random)
                await collector.stop(SIGKILL)
                // The broker publishes the last will after everything that the collector has sent.
                await expectEventually { count(client, "/main", #""status":"offline""#) > wills }
            }
            let kept = survivors(&random)
            try disk.cut(survivors: kept, using: &random)
            outcome.cuts += 1

            let context = "seed \(Self.seed), cut \(cut), \(kept)"
            let acknowledged = try acknowledged(client)
            outcome.acknowledged = acknowledged.values.reduce(0) { $0 + Int($1.count) }
            let stored = try stored(at: system.storePath, context)
            for (epoch, batches) in acknowledged {
                let missing = batches.subtracting(stored[epoch] ?? SequenceSet())
                lost[epoch] = (lost[epoch] ?? SequenceSet()).union(missing)
            }
            outcome.lost = lost.values.reduce(0) { $0 + Int($1.count) }
        }
        // The drain at the end needs a collector, and the agent's outbox.
        let starts = count(client, "/main", #""status":"online""#)
        let last = try system.startCollector(arguments)
        await expectEventually("\(last.text)") { count(client, "/main", #""status":"online""#) > starts }
        await agent.stop()
        return outcome
    }

    private func acknowledged(_ client: TestClient) throws -> [Epoch: SequenceSet] {
        var sets: [Epoch: SequenceSet] = [:]
        for message in client.messages where message.topic.hasSuffix("/ack") {
            let ack = try AcknowledgementJSON.decode(Data(message.payload))
            sets[ack.epoch] = (sets[ack.epoch] ?? SequenceSet()).union(ack.stored)
        }
        return sets
    }

    /// The batches in a store, which has to be sound. Empty if the store itself did not survive.
    private func stored(at path: String, _ context: String) throws -> [Epoch: SequenceSet] {
        guard try isSound(path, context) else { return [:] }
        var sets: [Epoch: SequenceSet] = [:]
        for epoch in try StoreReader(path: path).verification().first?.epochs ?? [] {
            sets[epoch.epoch] = epoch.received
        }
        return sets
    }

    // MARK: - Agent

    private func batches(_ client: TestClient) throws -> [(BatchPosition, [UInt8])] {
        try client.messages.compactMap { message in
            guard case .device(_, .stream(let stream))? = try? TopicRoot.standard.parse(message.topic),
                var batch = Optional(
                    try BatchEncoding.decode(
                        Data(message.payload), contentType: message.contentType, stream: stream,
                        limits: PayloadLimits(bytes: 1 << 20, samples: 100_000))), let position = batch.position
            else { return nil }
            // The same batch can be sent first as live data and then as backlog.
            batch.isLive = true
            return (position, BatchJSON.encode(batch))
        }
    }

    /// The batches that an outbox has ever accepted. Empty if the outbox itself did not survive.
    private func journal(at path: String, _ context: String) throws -> Set<BatchPosition> {
        guard try isSound(path, context) else { return [] }
        let database = try SQLiteDatabase(path: path, mode: .readWrite)
        let rows = try database.prepare("SELECT epoch, seq FROM journal")
        var positions: Set<BatchPosition> = []
        while try rows.step() {
            positions.insert(
                BatchPosition(epoch: try Epoch(validating: rows.text(at: 0) ?? ""), seq: rows.int64(at: 1)))
        }
        return positions
    }

    // MARK: - Both

    /// Checks the database, and returns whether it has tables.
    private func isSound(_ path: String, _ context: String) throws -> Bool {
        guard FileManager.default.fileExists(atPath: path) else { return false }
        let database = try SQLiteDatabase(path: path, mode: .readWrite)
        let check = try database.text("PRAGMA integrity_check")
        #expect(check == "ok", "\(context): \(check ?? "")")
        return try database.integer("SELECT count(*) FROM sqlite_schema") > 0
    }

    private func count(_ client: TestClient, _ suffix: String, _ part: String) -> Int {
        client.messages.count { $0.topic.hasSuffix(suffix) && !$0.isRetained && $0.text.contains(part) }
    }

    /// Whether a cut comes while the program starts. Messages that arrive after such a cut are checked after the next
    /// one.
    private func isEarly(using random: inout SeededGenerator) -> Bool { Int.random(in: 0..<4, using: &random) == 0 }

    /// Waits up to `longest` ms, but for no event: a power cut can come at any moment.
    private func wait(_ longest: Int, using random: inout SeededGenerator) async throws {
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...longest, using: &random)))
    }
}
