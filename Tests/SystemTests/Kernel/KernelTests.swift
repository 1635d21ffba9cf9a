import Foundation
import LockstepSQLite
import LockstepTestSupport
import Testing

/// An agent that reads sensors which the drivers of a real kernel provide. `deploy/test-kernel` prepares the guest.
@Suite("Sensors of a real kernel", .enabled(if: KernelGuest.folder != nil, "only deploy/test-kernel runs it"))
struct KernelTests {
    @Test("the agent finds, reads and stamps the sensors, while they are unplugged, changed and suspended")
    func sensors() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            let guest = try KernelGuest(in: system.folder)
            do { try await KernelRun(system: system, guest: guest).run() } catch { Issue.record(error) }
            await guest.stop()
        }
    }
}

private struct KernelRun {
    let system: TestSystem
    let guest: KernelGuest

    func run() async throws {
        try await boot()
        try await startAgent()
        try await checkValues()
        try await checkRates()
        try await unplug()
        try await useOwnClock()
        try await suspend()
        try await stop()
    }

    // MARK: - Expectations

    private func number(_ query: String) -> Int64? {
        let statement = try? SQLiteDatabase(path: system.storePath, mode: .readOnly).prepare("SELECT " + query)
        guard let statement, (try? statement.step()) == true else { return nil }
        return statement.int64(at: 0)
    }

    private func holds(_ condition: String) -> Bool { number(condition) == 1 }

    private func expectLogged(_ expression: String, within seconds: Int = 20) async throws {
        let isLogged = await eventually(within: .seconds(seconds)) { guest.hasLogged(expression) }
        try #require(isLogged, "no line '\(expression)': \(guest.console.suffix(3000))")
    }

    private func expectStored(_ condition: String, within seconds: Int = 20) async throws {
        let isStored = await eventually(within: .seconds(seconds)) { holds(condition) }
        try #require(isStored, "\(condition)\n\(guest.console.suffix(3000))")
    }

    /// Expects further samples of the accelerometer.
    private func expectSamples(_ count: Int) async throws {
        let newest = number("coalesce(max(t), 0) FROM accelerometer") ?? 0
        try await expectStored("(SELECT count(*) FROM accelerometer WHERE t > \(newest)) >= \(count)")
    }

    private func expectAll(_ table: String, _ x: Double, _ y: Double, _ z: Double, _ tolerance: Double) {
        let difference = "max(max(abs(x - (\(x))), abs(y - (\(y))), abs(z - (\(z)))))"
        #expect(holds("count(*) > 0 AND \(difference) <= \(tolerance) FROM \(table)"), "\(table)")
    }

    /// Expects that the newest sample is a few seconds old. The guest reads its clock to the second, at the start and after
    /// a suspend.
    private func expectRecent() {
        #expect(holds("abs((SELECT max(t) FROM accelerometer) / 1e6 - strftime('%s', 'now')) < 5"))
    }

    // MARK: - Steps

    private func boot() async throws {
        try await expectLogged("guest: Linux .* is ready", within: 120)
        #expect(!guest.hasLogged("cannot load"))
        try await guest.hub("plug")
        for _ in 0..<100 where try await guest.answer(guest.send("[ -e /dev/iio:device4 ]")).status != 0 {}
        try await guest.run("[ -e /dev/iio:device4 ]")
        let sensors = try await guest.run("lockstep-agent sensors --json")
        for name in ["accel_3d", "gyro_3d", "magn_3d", "press"] {
            #expect(
                sensors.split(separator: "\n").contains {
                    $0.contains("\"\(name)\"") && $0.contains("buffered, /dev/iio:device")
                }, "\(name): \(sensors)")
        }
    }

    private func startAgent() async throws {
        guest.mark()
        // 10.0.2.2 is this machine.
        try await guest.run(
            "lockstep-agent --device guest --broker mqtt://10.0.2.2:\(system.broker.port) --source iio "
                + "--outbox /tmp/outbox >/dev/console 2>&1 & echo $! >/run/agent")
        for (table, count) in [("accelerometer", 100), ("gyroscope", 100), ("magnetometer", 25), ("pressure", 0)] {
            try await expectStored("(SELECT count(*) FROM \(table)) > \(count)", within: 60)
        }
    }

    private func checkValues() async throws {
        expectAll("accelerometer", 0.1, -0.2, -0.95, 0.00001)
        expectAll("gyroscope", 1.5707963, -0.7853982, 0.5235988, 0.00001)
        expectAll("magnetometer", 20, -5, -40, 0.001)
        #expect(holds("min(pressure) > 1013.19 AND max(pressure) < 1013.21 FROM pressure"))
        try await expectStored("(SELECT value FROM orientation ORDER BY t DESC LIMIT 1) = 'faceUp'")
        for device in 0...1 {
            for (name, value) in [("buffer/enable", "1"), ("current_timestamp_clock", "boottime")] {
                #expect(try await guest.run("cat /sys/bus/iio/devices/iio:device\(device)/\(name)") == value)
            }
        }
        #expect(!guest.hasLogged(#"(accelerometer|gyroscope)".*stamped on arrival"#))
        // Drivers without timestamps, and with a timestamp that they repeat.
        #expect(guest.hasLogged(#"magnetometer".*stamped on arrival, because the scans have no timestamps"#))
        #expect(guest.hasLogged(#"pressure".*stamped on arrival, because the sensor.s timestamps do not advance"#))
        #expect(!guest.hasLogged("dropped"))
        expectRecent()
    }

    private func checkRates() async throws {
        #expect(guest.hasLogged("accelerometer interval 10 ms"))
        func lease(_ rate: Int) async throws {
            guest.mark()
            let result = try await RunningProgram.run(
                Programs.built("lockstep"),
                [
                    "command", "guest", "--broker", system.broker.url, "--rate", "motion/accelerometer=\(rate)",
                    "--timeout", "20s",
                ])
            #expect(result.status == 0, "\(result.text)")
        }
        try await lease(200)
        try await expectLogged("accelerometer interval 5 ms")
        try await expectSamples(100)
        try await lease(0)
        try await expectLogged("accelerometer interval 10 ms")
    }

    private func unplug() async throws {
        guest.mark()
        try await guest.hub("unplug")
        for name in ["accelerometer", "gyroscope", "magnetometer"] {
            try await expectLogged("motion/\(name)\".*unavailable")
        }
        guest.mark()
        try await guest.hub("plug")
        for name in ["accelerometer", "gyroscope"] {
            try await expectLogged("motion/\(name)\" status=running", within: 40)
        }
        try await expectSamples(100)
        try await expectLogged("accelerometer interval 10 ms")
        // The gyroscope alone gets the number that the accelerometer had.
        try await guest.hub("unplug")
        try await expectLogged("motion/gyroscope\".*unavailable")
        guest.mark()
        try await guest.hub("plug gyroscope")
        try await expectLogged("motion/gyroscope\" status=running", within: 40)
        #expect(try await guest.run("cat /sys/bus/iio/devices/iio:device0/name") == "gyro_3d")
    }

    /// A hub whose timestamps are of a clock of its own.
    private func useOwnClock() async throws {
        guest.mark()
        try await guest.hub("unplug")
        try await expectLogged("motion/gyroscope\".*unavailable")
        guest.mark()
        try await guest.hub("plug clock")
        for name in ["accelerometer", "gyroscope", "magnetometer"] {
            try await expectLogged(
                "motion/\(name)\".*stamped on arrival, because the sensor's timestamps are [0-9]+ s off", within: 40)
        }
        try await expectSamples(50)
        #expect(!guest.hasLogged("dropped"))
        expectRecent()
    }

    /// Only one sensor: the emulated hub is frozen with the other processes, and each request that a driver sends it meanwhile
    /// fails after 5 s.
    private func suspend() async throws {
        try await guest.hub("unplug")
        try await expectLogged("motion/accelerometer\".*unavailable")
        guest.mark()
        try await guest.hub("plug accelerometer")
        try await expectLogged("motion/accelerometer\" status=running", within: 40)
        try await expectSamples(50)
        let newest = number("max(t) FROM accelerometer") ?? 0
        let command = guest.send("echo mem >/sys/power/state")
        try #require(await eventually { guest.isSuspended })
        try await expectStored("(SELECT state FROM states ORDER BY seq DESC LIMIT 1) = 'background'", within: 40)
        guest.give("system_wakeup")
        try await expectStored(
            "group_concat(state, ' ') LIKE '%background resumed active' FROM (SELECT state FROM states ORDER BY seq)",
            within: 60)
        #expect(try await guest.answer(command).status == 0)
        try await guest.run("true")
        #expect(holds("(SELECT count(*) FROM states WHERE state = 'resumed' AND reason = 'wake') = 1"))
        #expect(
            holds(
                """
                count(*) = 1 FROM (SELECT t - lag(t) OVER (ORDER BY t) AS gap FROM accelerometer WHERE t >= \(newest))
                WHERE gap > 5000000
                """), "the time of the suspend is not one gap")
        expectRecent()
    }

    private func stop() async throws {
        guest.mark()
        try await guest.run("kill -TERM $(cat /run/agent)")
        try await expectStored("(SELECT state FROM states ORDER BY seq DESC LIMIT 1) = 'terminated'", within: 30)
        try await expectLogged("accelerometer off")
        let verification = try await RunningProgram.run(
            Programs.built("lockstep"), ["verify", "--store", "sqlite:\(system.storePath)"])
        #expect(verification.status == 0, "\(verification.text)")
        expectAll("accelerometer", 0.1, -0.2, -0.95, 0.00001)
        guest.send("poweroff -f")
        #expect(await guest.waitForEnd())
    }
}
