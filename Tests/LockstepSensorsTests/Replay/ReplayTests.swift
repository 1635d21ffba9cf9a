import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepSensors

@Suite("Replay")
struct ReplayTests {
    /// Plays a recording with this content at maximum speed and with its own timestamps.
    private func playOwn(_ text: String) async throws -> RecordingSink.Seen {
        try await withFile(text) { try await play(ReplaySource(file: $0, speed: .maximum, stamping: .own)) }
    }

    @Test("every row is delivered unchanged and in order", .enabled(if: sharedData != nil))
    func rowByRow() async throws {
        let file = sharedFile("walks/Samsung_Jamie_Hard_InHand_1.csv")
        let rows = try contents(of: file).split(separator: "\n").dropFirst().map { $0.split(separator: ",") }
        let source = try ReplaySource(file: file, speed: .maximum, stamping: .own)
        #expect(source.streams == [.accelerometer])
        #expect(source.name == "replay:\(file)")
        let seen = try await play(source)
        #expect(seen.clocks == [.own])
        #expect(seen.statuses == [.running, .ended])
        let samples = seen.samples(.accelerometer)
        #expect(samples.times == rows.compactMap { Int64($0[0]) })
        for column in 0..<3 { #expect(samples.columns[column] == rows.compactMap { Double($0[column + 1]) }) }
    }

    @Test("specific force in m/s² is converted to g with Lockstep's sign, and other streams are unchanged")
    func units() async throws {
        let seen = try await playOwn(
            """
            t_us,gx_rad_s,gy_rad_s,gz_rad_s,ax_m_s2,ay_m_s2,az_m_s2,mx_uT,my_uT,mz_uT,qw,movement
            0,0.1,0.2,0.3,0,0,9.80665,20,-5,40.5,1,0
            10000,0,0,0,-9.80665,4.903325,0,1,2,3,,1
            """)
        #expect(seen.samples(.gyroscope).columns == [[0.1, 0], [0.2, 0], [0.3, 0]])
        #expect(seen.samples(.magnetometer).columns == [[20, 1], [-5, 2], [40.5, 3]])
        let acceleration = seen.samples(.accelerometer)
        #expect(acceleration.times == [0, 10_000])
        for (found, expected) in zip(acceleration.columns.joined(), [0, 1, 0, -0.5, -1, 0]) {
            #expect(abs(found - expected) < 1e-12)
        }
    }

    @Test(
        "a recording of three sensors at rest shows -1 g and the earth's magnetic field",
        .enabled(if: sharedData != nil))
    func threeSensors() async throws {
        let source = try ReplaySource(
            file: sharedFile("orientation/10_undisturbed_slow_translation_A.csv"), speed: .maximum, stamping: .own)
        #expect(source.streams == [.accelerometer, .gyroscope, .magnetometer])
        let seen = try await play(source)
        let acceleration = seen.samples(.accelerometer)
        #expect(abs((acceleration.columns[2].prefix(500).reduce(0, +) / 500) + 1) < 0.05)
        #expect(seen.samples(.gyroscope).count == acceleration.count)
        #expect(seen.samples(.magnetometer).count == acceleration.count)
    }

    @Test("a file may contain locations and motion, and empty fields are missing samples or null")
    func mixed() async throws {
        let seen = try await playOwn(
            """
            t_us,x_g,y_g,z_g,lat,lon,alt,fix,note
            0,0,0,-1,,,,,hello
            10000,0,0.5,-1,48.1,11.6,,2,
            20000,,,,,,,1,
            """)
        #expect(seen.samples(.accelerometer).times == [0, 10_000])
        let location = seen.samples(.location)
        #expect(location.times == [10_000, 20_000])
        let expected: [[Double]] = [
            [48.1, 11.6, .nan, .nan, .nan, .nan, .nan, 2, .nan], [.nan, .nan, .nan, .nan, .nan, .nan, .nan, 1, .nan],
        ]
        for index in 0..<2 {
            #expect(zip(location.values(at: index), expected[index]).allSatisfy { $0 == $1 || ($0.isNaN && $1.isNaN) })
        }
    }

    @Test("CR LF, a byte order mark, spaces and blank lines at the end are accepted")
    func dialects() async throws {
        let seen = try await playOwn("\u{FEFF}t_us, x_m_s2,y_m_s2,z_m_s2\r\n5, 0 ,0,-9.80665\r\n6,0,0,0\r\n\r\n  \n")
        #expect(seen.samples(.accelerometer).times == [5, 6])
        #expect(seen.samples(.accelerometer).values(at: 0) == [0, 0, 1])
    }

    @Test("rows with equal times are 1 µs apart")
    func ties() async throws {
        let seen = try await playOwn("t_us,x_g,y_g,z_g\n5,1,0,0\n5,2,0,0\n5,3,0,0\n6,4,0,0\n900,5,0,0")
        #expect(seen.samples(.accelerometer).times == [5, 6, 7, 8, 900])
    }

    @Test("at maximum speed a recording ends at the present time, with unchanged intervals")
    func fullSpeed() async throws {
        let rows = (0..<2000).map { "\(1_000_000 + $0 * 9_000),0,0,-1" }.joined(separator: "\n")
        let before = Moment.now().boot
        let seen = try await withFile("t_us,x_g,y_g,z_g\n\(rows)\n") {
            try await play(ReplaySource(file: $0, speed: .maximum))
        }
        let times = seen.samples(.accelerometer).times
        #expect(seen.clocks == [.boot])
        #expect(times.count == 2000)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 9_000 })
        #expect(try (before...Moment.now().boot).contains(#require(times.last)))
        #expect(seen.blocks.allSatisfy { $0.count <= 500 })
    }

    @Test("at ten times the speed no sample is in the future and the last one is at the present time")
    func tenTimes() async throws {
        let rows = (0...200).map { "\($0 * 20_000),0,0,-1" }.joined(separator: "\n")
        let before = Moment.now().boot
        let seen = try await withFile("t_us,x_g,y_g,z_g\n\(rows)\n") {
            try await play(ReplaySource(file: $0, speed: .times(10)))
        }
        let after = Moment.now().boot
        let times = seen.samples(.accelerometer).times
        #expect(after - before >= 400_000)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 20_000 })
        #expect(try (before + 400_000...after).contains(#require(times.last)))
    }

    @Test("due rows are delivered together, no more often than the linger allows, with their own timestamps")
    func linger() async throws {
        let rows = (0...100).map { "\($0 * 10_000),0,0,-1" }.joined(separator: "\n")
        let seen = try await withFile("t_us,x_g,y_g,z_g\n\(rows)\n") {
            try await play(ReplaySource(file: $0, linger: 250_000))
        }
        // The first row is delivered at once, then at most four pauses follow.
        #expect(seen.blocks.count <= 5)
        let times = seen.samples(.accelerometer).times
        #expect(times.count == 101)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 10_000 })
    }

    @Test("the wait lasts until the next row is due, and at least for the linger")
    func pauses() {
        let timing = ReplayTiming(speed: .times(2), stamping: .now, began: 1_000, first: 70, last: 60_000_070)
        func pause(before time: Int64) -> Int64? { timing.pause(before: time, at: 1_000_000, linger: 70_000) }
        // At twice the speed, all rows with times up to 1,998,070 are due.
        #expect(pause(before: 1_998_070) == nil)
        #expect(pause(before: 1_998_072) == 70_000)
        #expect(pause(before: 2_298_070) == 150_000)
        let unlimited = ReplayTiming(speed: .maximum, stamping: .now, began: 1_000, first: 70, last: 60_000_070)
        #expect(unlimited.pause(before: 2_298_070, at: 1_000_000, linger: 70_000) == nil)
    }

    @Test("at any speed a timestamp is not later than the time of delivery", arguments: [0.25, 1, 3, 100])
    func timing(factor: Double) {
        var timing = ReplayTiming(speed: .times(factor), stamping: .now, began: 1_000, first: 70, last: 60_000_070)
        for time in stride(from: Int64(70), through: 60_000_070, by: 999_983) {
            let deadline = timing.deadline(time) ?? 0
            let stamp = timing.stamp(time)
            #expect(stamp <= deadline + 1)
        }
        #expect(timing.deadline(60_000_070) == 1_000 + Int64(60_000_000 / factor))
    }

    @Test("a cancelled replay stops at once and does not report its end")
    func cancellation() async throws {
        let statuses = try await withFile("t_us,x_g,y_g,z_g\n0,0,0,-1\n3600000000,0,0,-1\n") { file in
            let clock = ContinuousClock()
            var cancelled = clock.now
            let sink = try await withRunning(ReplaySource(file: file)) { sink in
                #expect(await sink.wait { !$0.blocks.isEmpty })
                cancelled = clock.now
                return sink
            }
            #expect(clock.now - cancelled < .seconds(60))
            return sink.seen.statuses
        }
        #expect(statuses == [.running])
    }

    @Test("a recording is read as a whole, with additional columns")
    func whole() async throws {
        try await withFile("t_us,magnitude_g,qw,movement\n0,1.5,,0\n40000,0.5,0.25,1\n") { file in
            let recording = try Recording(file: file, extras: ["qw", "movement", "missing"])
            #expect(recording.times == [0, 40_000])
            #expect(recording.samples(of: .accelerometer)?.columns == [[0, 0], [0, 0], [-1.5, -0.5]])
            #expect(recording.samples(of: .gyroscope) == nil)
            #expect(recording.column("qw").map { $0[0].isNaN && $0[1] == 0.25 } == true)
            #expect(recording.column("movement") == [0, 1])
            #expect(recording.column("missing") == nil)
        }
    }
}
