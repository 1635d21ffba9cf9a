import Foundation
import LockstepModel
import LockstepStore

/// A run of one collector that stores the messages of a fleet in real time, and of the C program that appends the same
/// rows.
struct WritesRun {
    let programs: String
    let sync: String
    let load: WritesLoad
    /// The folder of the store, which must be on a disk.
    let folder: String

    private static let connections = 10
    private var store: String { folder + "/store.db" }

    func run() throws -> WritesResult {
        try load.fill(store)
        let broker = try BenchBroker(in: folder)
        defer { broker.stop() }
        try flushDisk()
        let collector = try AccountedProcess(
            programs + "/lockstep-collector",
            ["--broker", broker.url, "--store", "sqlite:" + store, "--sync", sync, "--log-level", "error"])
        defer { collector.discard() }
        try broker.wait(for: "lockstep/default/$collector/main")
        try announceDevices(broker, collector)

        let before = (account: try collector.account(), log: try WriteAheadLog(of: store))
        let clock = ContinuousClock()
        let begin = clock.now
        let lateness = try Launched.run(
            Launched.beside("publish-paced"), ["\(broker.port)", load.messageFile, "\(Self.connections)"])
        let expected = load.samples + load.prefill * load.fleet.devices
        try waitUntil("\(expected) samples are stored", seconds: 600, every: 200) {
            // If the store is busy, the next poll succeeds.
            ((try? devices().reduce(0) { $0 + $1.samples }) ?? 0) >= expected
        }
        let seconds = (clock.now - begin) / .seconds(1)
        let after = (account: try collector.account(), log: try WriteAheadLog(of: store))
        let total = try collector.stop()
        guard total.written > 0 else {
            throw Failure("\(folder) is in memory: set TMPDIR to a folder on a disk, or enable task I/O accounting")
        }

        let commits = after.log.commits - before.log.commits
        let rowBytes = try checkedRowBytes(expected: expected)
        return WritesResult(
            fleet: load.fleet, sync: sync, prefill: load.prefill, messages: load.messages, samples: load.samples,
            rowBytes: rowBytes, total: total, live: total - before.account,
            cpu: after.account.cpu - before.account.cpu, commits: commits, checkpoints: after.log.restarts + 1,
            seconds: seconds,
            appended: try append(rowBytes: rowBytes, commits: commits, checkpoints: after.log.restarts + 1),
            lateness: Double(lateness.filter { !$0.isWhitespace }) ?? .nan)
    }

    /// Publishes the presence of all devices, and waits until the collector has stored it.
    private func announceDevices(_ broker: BenchBroker, _ collector: AccountedProcess) throws {
        try Launched.run(Launched.beside("publish-load"), ["\(broker.port)", load.presenceFile])
        try waitUntil("the collector knows \(load.fleet.devices) devices", seconds: 300, every: 200) {
            ((try? devices().count { $0.state != nil }) ?? 0) == load.fleet.devices
        }
        // Wait for the checkpoint.
        var written = -1
        try waitUntil("the collector writes nothing", seconds: 60, every: 1000) {
            defer { written = (try? collector.account().written) ?? -1 }
            return (try? collector.account().written) == written
        }
    }

    private func devices() throws -> [StoredDevice] { try StoreReader(path: store).devices() }

    /// Checks that every sample is stored once, and returns the bytes of the new rows.
    ///
    /// A row of `accelerometer`, a table without row ids, takes in its page: 2 bytes of the cell pointer, 1 of the
    /// length, 6 of the record header, 8 of the time, 24 of the values, and 1 to 3 of the device's number. (Values
    /// that are whole numbers are shorter, but rare.)
    private func checkedRowBytes(expected: Int) throws -> Int {
        let sql = """
            SELECT count(*), (SELECT count(*) FROM (SELECT DISTINCT device_id, t FROM accelerometer)) FROM accelerometer
            UNION ALL SELECT count(*), sum(CASE WHEN device_id < 128 THEN 42 WHEN device_id < 32768 THEN 43 ELSE 44 END)
            FROM accelerometer WHERE t > \(load.begin.microseconds - Int64(load.fleet.window));
            """
        let numbers = try Launched.run("sqlite3", ["-readonly", store, sql])
            .split { $0.isNewline || $0 == "|" }.compactMap { Int($0) }
        guard numbers.count == 4 else { throw Failure("cannot count the rows of \(store)") }
        guard numbers[0] == expected, numbers[1] == expected, numbers[2] == load.samples else {
            throw Failure(
                "\(load.fleet) devices: \(expected) samples were sent, but the store has \(numbers[0]) rows with "
                    + "\(numbers[1]) keys, \(numbers[2]) of \(load.samples) of them new")
        }
        return numbers[3]
    }

    /// Lets the C program write as often as the collector commits. It syncs as often as well (`full`), or only as often
    /// as the collector checkpoints (`normal`).
    private func append(rowBytes: Int, commits: Int, checkpoints: Int) throws -> WritesResult.Appended {
        let size = (Double(rowBytes) / Double(load.samples)).rounded()
        let text = try Launched.run(
            Launched.beside("append-rows"),
            [
                folder + "/appended", load.rowFile, fixed(size, digits: 0), "\(max(1, commits))",
                "\(sync == "full" ? commits : checkpoints)",
            ])
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard numbers.count == 4, Int(numbers[3]) == load.samples else {
            throw Failure("append-rows did not append all rows")
        }
        return WritesResult.Appended(cpu: numbers[0], written: Int(numbers[1]), passed: Int(numbers[2]))
    }

    /// Waits until all files are on disk, because pages that are still dirty would not count again.
    private func flushDisk() throws { try Launched.run("sync", ["--file-system", folder]) }
}
