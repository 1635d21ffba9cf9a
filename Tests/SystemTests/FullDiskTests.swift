import Foundation
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("A full disk", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct FullDiskTests {
    @Test(
        "an agent on a full disk drops and counts the oldest batches, and delivers the others",
        .enabled("a small file system cannot be mounted here") { await SmallDisk.isAvailable() })
    func agent() async throws {
        try await withSystem { system in
            let disk = system.folder + "/disk"
            try await SmallDisk.with(at: disk, kilobytes: 700) {
                await system.broker.stop(SIGKILL)
                let outbox = disk + "/outbox"
                let agent = try system.start(
                    "lockstep-agent",
                    [
                        "--broker", system.broker.url, "--device", "walker", "--source", "simulate:1", "--outbox",
                        outbox, "--window", "200ms", "--rate", "motion/accelerometer=1000", "--rate",
                        "motion/gyroscope=1000",
                    ])
                #expect(await agent.waitForOutput("reason=disk-full", within: .seconds(120)))
                let database = try SQLiteDatabase(path: outbox, mode: .readOnly)
                let last = try database.integer("SELECT max(seq) FROM batches")
                // It must keep dropping old batches for new ones.
                try await expectEventually("\(agent.text)", within: .seconds(120)) {
                    try database.integer("SELECT max(last) FROM dropped") > last / 2
                }
                try await system.broker.start()
                let collector = try system.startCollector()
                #expect(await collector.waitForState("active", of: "default/walker", within: .seconds(120)))
                let newest = try database.integer("SELECT max(seq) FROM batches")
                try await expectEventually("\(agent.text)", within: .seconds(120)) {
                    try database.integer("SELECT count(*) FROM batches WHERE seq <= \(newest)") == 0
                }
                await agent.stop()
                #expect(!agent.text.contains("samples lost"), "\(agent.text)")
                // Every batch is either stored or reported as dropped.
                let store = try SQLiteDatabase(path: system.storePath, mode: .readOnly)
                try await expectEventually(within: .seconds(120)) {
                    try store.integer("SELECT count(*) FROM v_gaps") == 0
                        && store.integer("SELECT max(last) FROM batches") >= newest
                        && store.integer("SELECT count(*) FROM dropped") > 0
                }
            }
        }
    }

    @Test(
        "a collector that is stopped while its disk is full reports that it is offline",
        .enabled("a small file system cannot be mounted here") { await SmallDisk.isAvailable() })
    func collector() async throws {
        try await withSystem { system in
            let disk = system.folder + "/disk"
            try await SmallDisk.with(at: disk, kilobytes: 3000) {
                let collector = try system.start(
                    "lockstep-collector", ["--broker", system.broker.url, "--store", "sqlite:\(disk)/samples.db"])
                try await system.waitForSubscription()
                let client = try await system.connect(["lockstep/default/$collector/main"])
                SmallDisk.fill(disk + "/filler")
                _ = try system.startAgent("walker", ["--window", "200ms"])
                #expect(
                    await collector.waitForOutput("store not writable", within: .seconds(120)), "\(collector.text)")
                await client.expectMessage { $0.text.contains(#""status":"stalled""#) }
                // It reports this on a second connection, and ends that with the next samples.
                await expectEventually("\(system.broker.text)", within: .seconds(120)) {
                    let lines = system.broker.text.split(separator: "\n")
                    let last = lines.lastIndex { $0.contains(" as lockstep-collector-main (") } ?? 0
                    return lines.count { $0.contains(" as lockstep-collector-main (") } > 1
                        && lines[last...].contains {
                            $0.contains("Client lockstep-collector-main closed its connection")
                        }
                }
                await collector.stop()
                #expect(system.broker.text.contains(" as lockstep-collector-main-report-"), "\(system.broker.text)")
                #expect(collector.text.contains("collector stopped"), "\(collector.text)")
                let reader = try await system.connect(["lockstep/default/$collector/main"])
                await reader.expectMessage { _ in true }
                #expect(
                    reader.messages.first?.text.contains(#""status":"offline""#) == true,
                    "\(reader.messages.map(\.text))")
            }
        }
    }
}
