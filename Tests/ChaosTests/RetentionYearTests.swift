import Foundation
import LockstepAgent
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

/// A system for which a year passes in minutes: the clocks of its programs are set forward by a day, again and again, as if the
/// machine had slept.
///
/// `LOCKSTEP_YEAR_DAYS` sets the number of days. A year takes about ten minutes.
@Suite(
    "A year of retention",
    .enabled("mosquitto or clang is not installed") {
        guard Programs.isInstalled("mosquitto") else { return false }
        return await AdjustableClock.isAvailable
    })
struct RetentionYearTests {
    private static let day: Int64 = 86_400_000_000
    private static let age = 5 * day
    private static let names = ["ant", "bee", "cow"]

    @Test(
        "after days with kills, full disks and late devices, a store has exactly the samples of the rule, each once",
        .timeLimit(.minutes(600)),
        .enabled("a small file system cannot be mounted here") { await SmallDisk.isAvailable() })
    func year() async throws {
        let days = ProcessInfo.processInfo.environment["LOCKSTEP_YEAR_DAYS"].flatMap { Int64($0) } ?? 24
        try await withSystem(isPersistent: true) { system in
            let disk = system.folder + "/disk"
            // Nothing is refused before less than 8 MB are left.
            try await SmallDisk.with(at: disk, kilobytes: 128 << 10) { try await run(days, system, disk) }
        }
    }

    private func run(_ days: Int64, _ system: TestSystem, _ disk: String) async throws {
        let store = disk + "/store.db"
        let clock = try await AdjustableClock(in: system.folder)
        let link = try Relay(to: system.broker.port)
        defer { link.cut() }
        func startCollector() throws -> RunningProgram {
            try system.start(
                "lockstep-collector",
                ["--broker", system.broker.url, "--store", "sqlite:\(store)", "--keep", "*=5d", "--confirm-retention"],
                environment: clock.environment)
        }
        func startAgent(_ name: String, source: String = "simulate") throws -> RunningProgram {
            let off = ["motion/gyroscope", "motion/magnetometer", "motion/device"].flatMap { ["--rate", $0 + "=off"] }
            return try system.startAgent(
                name, source: source,
                ["--backlog-rate", "4M", "--outbox-age", "100000h", "--rate", "motion/accelerometer=50"] + off,
                url: name == "cow" ? "mqtt://127.0.0.1:\(link.port)" : nil, environment: clock.environment)
        }
        func address(_ name: String) -> DeviceAddress {
            DeviceAddress(group: .standard, device: DeviceID(unchecked: name))
        }
        var collector = try startCollector()
        var agents: [String: RunningProgram] = [:]
        for name in Self.names { agents[name] = try startAgent(name) }
        await expectEventually("\(collector.text)") { (try? StoreReader(path: store)) != nil }
        let reader = try StoreReader(path: store)
        let database = try SQLiteDatabase(path: store, mode: .readOnly)
        var today: Int64 = 0
        var present = Set(Self.names)
        for number in 0..<days {
            try clock.set(wall: number * 86_400, boot: number * 86_400)
            today = Moment.now().wall.microseconds + number * Self.day
            if number % 12 == 4 {
                let text = collector.text
                SmallDisk.fill(disk + "/filler")
                await expectEventually("\(collector.text)", within: .seconds(300)) {
                    collector.text.dropFirst(text.count).contains("store not writable")
                }
                continue
            }
            switch number % 12 {
            case 2:
                link.cut()
                present.remove("cow")
            case 5: try FileManager.default.removeItem(atPath: disk + "/filler")
            case 7:
                await system.broker.stop(SIGKILL)
                try await system.broker.start()
            case 8:
                await agents["ant"]?.stop(SIGKILL)
                agents["ant"] = try startAgent("ant")
            case 9:
                // The oldest of its samples are too late.
                try link.restore()
                present.insert("cow")
            default: break
            }
            // Not waiting for an event: it may be killed at any moment of what the new day brings.
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...500)))
            await collector.stop(SIGKILL)
            collector = try startCollector()
            for name in present {
                try await expectEventually("day \(number), \(name): \(collector.text)", within: .seconds(300)) {
                    try reader.timeRanges(of: .accelerometer, devices: [address(name)])[address(name)]
                        .map { $0.upperBound.microseconds > today } ?? false
                }
            }
            let pages = try database.integer("PRAGMA page_count")
            let used = pages - (try database.integer("PRAGMA freelist_count"))
            print(
                "year: day \(number)\t\(pages) pages\t" + String(repeating: "#", count: Int(used / 50))
                    + String(repeating: ".", count: Int((pages - used) / 50)))
        }
        try? FileManager.default.removeItem(atPath: disk + "/filler")
        try link.restore()
        for name in Self.names {
            await agents[name]?.stop()
            let last = try startAgent(name, source: "none")
            #expect(await last.waitForExit(within: .seconds(300)) == 0, "\(name): \(last.text)")
        }
        func limits() throws -> [DeviceAddress: Int64] {
            let expiries = try reader.expiries().filter { $0.stream == "motion/accelerometer" }
            return Dictionary(uniqueKeysWithValues: expiries.map { ($0.device, $0.before) })
        }
        let least = KeepRules.limit(ofAge: Self.age, at: today)
        try await expectEventually("\(collector.text)", within: .seconds(300)) {
            let limits = try limits()
            return Self.names.allSatisfy { limits[address($0)] ?? 0 >= least }
        }
        // It moves what waits to the tables.
        await collector.stop()
        for name in Self.names {
            let limit = try #require(try limits()[address(name)])
            #expect(limit <= KeepRules.limit(ofAge: Self.age, at: today + Self.day))
            var accepted: Set<Int64> = []
            try Journal.read(path: system.outbox(of: name)) { batch in
                guard batch.samples.stream.name == "motion/accelerometer" else { return }
                accepted.formUnion(batch.samples.times.filter { $0 >= limit })
            }
            let select = try database.prepare(
                "SELECT t FROM accelerometer JOIN devices USING (device_id) WHERE device = '\(name)'")
            var rows: [Int64] = []
            while try select.step() { rows.append(select.int64(at: 0)) }
            print("year: \(rows.count) samples of \(name) are kept")
            #expect(rows.count > 100 && rows.count == Set(rows).count)
            #expect(accepted.symmetricDifference(rows).isEmpty)
        }
        #expect(try reader.expiries().contains { $0.device == address("cow") && $0.late > 0 })
        let verification = try await RunningProgram.run(
            Programs.built("lockstep"),
            ["verify", "--store", "sqlite:\(store)"]
                + Self.names.flatMap { ["--journal", "\($0)=\(system.outbox(of: $0))"] })
        #expect(verification.status == 0, "\(verification.text)")
    }
}
