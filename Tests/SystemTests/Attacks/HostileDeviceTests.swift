import Foundation
import LockstepMQTT
import LockstepSQLite
import LockstepTestSupport
import Synchronization
import Testing

/// One device floods its own topics, while another one works.
///
/// By default, each flood is short. With the environment variable `LOCKSTEP_ATTACK_MESSAGES`, it has this many messages, and
/// the costs are printed: `deploy/check --attacks` does that for docs/security.md.
@Suite("Hostile devices", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct HostileDeviceTests {
    private static let requested = ProcessInfo.processInfo.environment["LOCKSTEP_ATTACK_MESSAGES"].flatMap { Int($0) }
    /// More than each device may do at once.
    private static let messages = requested ?? 4000
    /// The maximum delay of a good device, in s.
    private static let maxDelay = 10.0

    /// The limits of the broker in `broker-config/production.conf`.
    private static func brokerLimits() throws -> [String] {
        let names = [
            "max_queued_messages", "max_queued_bytes", "memory_limit", "max_inflight_messages", "max_packet_size",
        ]
        let text = try String(contentsOfFile: Programs.source("broker-config/production.conf"), encoding: .utf8)
        return text.split(separator: "\n").map(String.init).filter { line in
            names.contains { line.hasPrefix($0 + " ") }
        }
    }

    @Test(
        "a device that floods its own topics costs the others nothing: they are stored in time, also after a restart",
        .timeLimit(.minutes(20)))
    func floods() async throws {
        try await withSystem(brokerSettings: try Self.brokerLimits()) { system in
            var collector = try system.startCollector()
            try await system.waitForSubscription()
            let good = try system.startAgent("good", ["--encoding", "cbor"])
            #expect(await collector.waitForState("active", of: "default/good"), "\(collector.text)")
            let store = try SQLiteDatabase(path: system.storePath, mode: .readOnly)
            let hostile = try await system.connect([])
            try await expectEventually { try store.integer("SELECT sum(samples) FROM devices") > 0 }
            report("| Flood | Sent in | Delay of a good device | Collector | Broker | Store |")
            report("|---|---|---|---|---|---|")
            for flood in Flood.allCases {
                let begin = ContinuousClock.now
                let now = Int64(Date().timeIntervalSince1970 * 1e6)
                let delays = DelayProbe(path: system.storePath)
                for start in stride(from: 0, to: Self.messages, by: 5000) {
                    let numbers = start..<min(start + 5000, Self.messages)
                    #expect(await hostile.publish(numbers.map { flood.message($0, now) }), "\(flood)")
                }
                let sent = ContinuousClock.now - begin
                // The broker acknowledges messages before the collector has them.
                let isCurrent = await eventually(within: .seconds(120)) {
                    (try? delays.delay()).map { $0 < 2.5 } == true
                }
                #expect(isCurrent, "\(flood): the good device is late for ever")
                let worst = await delays.stop()
                #expect(worst < Self.maxDelay, "\(flood): a good device was \(worst) s late")
                report(
                    "| \(flood.rawValue) | \(sent.formatted(.units(allowed: [.seconds], fractionalPart: .show(length: 1)))) "
                        + "| \(String(format: "%.1f", worst)) s | \(memory(of: collector)) MB "
                        + "| \(system.broker.pid.map { memory($0) } ?? 0) MB | \(size(of: system.storePath)) MB |")
            }
            // What one device may leave, besides what it may do once more in each interval: see docs/store.md.
            let epochs = try store.integer("SELECT count(DISTINCT epoch) FROM batches")
            #expect(epochs <= 300, "\(epochs) epochs are stored")
            let reports = try store.integer("SELECT count(*) FROM _reports")
            #expect(reports <= 600, "\(reports) reports are stored")
            let states = try store.integer("SELECT count(*) FROM states")
            #expect(states <= 400, "\(states) transitions are stored")
            let clocks = try store.integer("SELECT count(*) FROM clocks")
            #expect(clocks <= 1100, "\(clocks) estimates are stored")
            #expect(collector.text.utf8.count < 300_000, "\(collector.text.utf8.count) bytes of log")
            #expect(memory(of: collector) < 300)

            await collector.stop(SIGKILL)
            collector = try system.startCollector()
            let delays = DelayProbe(path: system.storePath)
            #expect(await collector.waitForOutput("connected to"), "\(collector.text)")
            let restarted = await delays.stop()
            #expect(restarted < Self.maxDelay, "after the restart, a good device was \(restarted) s late")
            report(
                "| restart of the collector | | \(String(format: "%.1f", restarted)) s | \(memory(of: collector)) MB | | |"
            )
            await good.stop()
            try await system.drain("good")
            // The hostile device has gaps, of course.
            let verification = try await RunningProgram.run(
                Programs.built("lockstep"),
                [
                    "verify", "--store", "sqlite:\(system.storePath)", "--device", "good", "--journal",
                    "good=\(system.outbox(of: "good"))",
                ])
            #expect(verification.status == 0, "\(verification.text)")
        }
    }

    private func report(_ line: String) { if Self.requested != nil { print(line) } }

    private func memory(of program: RunningProgram) -> Int { memory(program.pid) }

    /// The resident memory of a process, in MB.
    private func memory(_ pid: Int32) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) / 1024
    }

    private func size(of path: String) -> Int {
        [path, path + "-wal"].reduce(0) { sum, path in
            sum + ((try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0)
        } / 1_000_000
    }
}

/// Measures how late the samples of the device `good` are stored, several times a second.
private final class DelayProbe: Sendable {
    private let worst = Mutex(0.0)
    private let path: String
    private let isStopping = Mutex(false)
    private let isStopped = Mutex(false)

    init(path: String) {
        self.path = path
        let thread = Thread { [self] in
            // At least once, when the flood has ended.
            repeat {
                let isLast = isStopping.withLock { $0 }
                if let delay = try? delay() { worst.withLock { $0 = max($0, delay) } }
                if isLast { break }
                usleep(100_000)
            } while true
            isStopped.withLock { $0 = true }
        }
        thread.start()
    }

    func delay() throws -> Double {
        let store = try SQLiteDatabase(path: path, mode: .readOnly)
        let newest = try store.integer(
            """
            SELECT t FROM accelerometer WHERE device_id = (SELECT device_id FROM devices WHERE device = 'good')
            ORDER BY t DESC LIMIT 1
            """)
        return Date().timeIntervalSince1970 - Double(newest) / 1e6
    }

    /// Ends the measurement.
    /// - Returns: the largest delay, in s.
    func stop() async -> Double {
        isStopping.withLock { $0 = true }
        #expect(await eventually { self.isStopped.withLock { $0 } })
        return worst.withLock { $0 }
    }
}
