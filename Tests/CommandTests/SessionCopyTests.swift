import Foundation
import LockstepClickHouse
import LockstepExport
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import lockstep

@Suite("Copy of a session")
struct SessionCopyTests {
    private static let start: Int64 = 1_700_000_000_000_000
    private let left = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))

    /// Writes a store with a session of five seconds, and samples before, in and after it of a device whose clock is ahead.
    /// - Parameter offset: what the clock is ahead, in µs.
    @discardableResult
    private func prepare(_ path: String, offset: Int64 = 250_000) throws -> RecordingSession {
        let times = (0..<100).map { Self.start + Int64($0) * 100_000 + offset }
        var group = IngestGroup(batches: [
            received(block(times, x: times.indices.map(Double.init)), "left", nil),
            received(block(times, x: times.map { _ in 9 }), "right", nil),
        ])
        // Estimates are on the device's time line.
        group.clocks = ([0, 5_000_000, 10_000_000] as [Int64]).map { time in
            let point = ClockPoint(
                collector: CollectorID(unchecked: "main"), time: Timestamp(microseconds: Self.start + offset + time),
                segment: Timestamp(microseconds: Self.start), offset: offset, skew: 0, bound: 150, skewBound: 0)
            return DeviceClock(device: left, epoch: Epoch(unchecked: "e1"), point: point)
        }
        var session = RecordingSession(
            key: .init(group: .standard, id: SessionID(unchecked: "walk-3")), name: "walk 3",
            created: Timestamp(microseconds: Self.start))
        (session.start, session.end) = (
            Timestamp(microseconds: Self.start + 2_000_000), Timestamp(microseconds: Self.start + 7_000_000)
        )
        session.state = .complete
        session.labels = ["subject": "7"]
        session.rates = ["motion/accelerometer": 10]
        session.devices[left.device] = .init(joined: session.created)
        session.devices[left.device]?.lastNumbers = [Epoch(unchecked: "e1"): 7]
        session.devices[left.device]?.calibration =
            #"{"t":1,"matrix":[1,0,0,0,1,0,0,0,1],"offset":[0.08,0,0],"positions":9,"error_before":0.08,"error_after":0.001}"#
        session.add(
            .init(
                id: "m", time: Timestamp(microseconds: Self.start + 3_000_000), clock: .client, text: "turn", value: 2))
        var running = RecordingSession(
            key: .init(group: .standard, id: SessionID(unchecked: "now")), name: "now", created: session.created)
        running.state = .recording
        group.sessions = [session, running]
        group.markers = [(session.key, session.markers[0])]
        try write(group, to: path)
        return session
    }

    private func copy(
        _ from: String, _ to: String, _ session: String = "walk 3"
    ) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            // Old ClickHouse servers know no other one.
            Programs.built("lockstep"),
            ["copy", "--from", from, "--to", to, "--session", session, "--sync", "normal"])
    }

    /// The session and its samples on the collector's clock, as an export shows them.
    private func content(_ address: String) throws -> (sessions: [RecordingSession], samples: [[Double]], gaps: Int) {
        let reader = try StoreAddress(address).reader()
        var samples: [[Double]] = []
        try reader.query(stream: .accelerometer) { row in
            samples.append([Double(row.time.microseconds - Self.start)] + row.values)
        }
        let sessions = try reader.sessions()
        let series = try sessions.first?.series(in: reader, now: Timestamp(microseconds: 0)) ?? []
        #expect(series.map(\.samples) == [50], "samples on the clock of the collector")
        return (sessions, samples, series.reduce(0) { $0 + $1.gaps.count })
    }

    @Test("a session is copied to another file: its labels, markers and samples, once, and nothing else")
    func file() async throws {
        try await withTemporaryFolder { folder in
            let (from, to) = ("sqlite:\(folder)/a.db", "sqlite:\(folder)/b.db")
            let session = try prepare(folder + "/a.db")
            for copied in [50, 0] {
                let run = try await copy(from, to)
                #expect(run.status == 0 && run.text.contains("50 samples, \(copied) copied now"), "\(run.text)")
            }
            let found = try content(to)
            #expect(found.sessions == [session] && found.gaps == 0)
            #expect(found.samples.count == 50 && found.samples[0] == [2_250_000, 20, 0, -1])
            for (name, reason) in [("now", "has not ended"), ("none", "there is no session 'none'")] {
                let run = try await copy(from, to, name)
                #expect(run.status == 1 && run.text.contains(reason), "\(run.text)")
            }
        }
    }

    private func export(_ folder: String, _ options: [String] = []) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep"),
            ["export", "session", "walk 3", "--store", "sqlite:\(folder)/a.db", "--out", folder + "/walk-3"] + options)
    }

    private func importSession(_ folder: String, to store: String) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep"), ["copy", "--from", folder + "/walk-3", "--to", "sqlite:\(folder)/\(store)"])
    }

    @Test("the folder of an exported session is copied into a store, with its labels, markers, devices and samples")
    func folder() async throws {
        try await withTemporaryFolder { folder in
            var session = try prepare(folder + "/a.db")
            let exported = try await export(folder)
            #expect(exported.status == 0, "\(exported.text)")
            // Another collector has other estimates of the clock, of the day after.
            var group = IngestGroup()
            let time = Timestamp(microseconds: Self.start + 86_400_000_000)
            let other = ClockPoint(
                collector: CollectorID(unchecked: "other"), time: time, segment: time, offset: 3_600_000_000, skew: 0,
                bound: 5, skewBound: 0)
            group.clocks = [DeviceClock(device: left, epoch: Epoch(unchecked: "e2"), point: other)]
            try write(group, to: folder + "/b.db")
            let run = try await importSession(folder, to: "b.db")
            #expect(run.status == 0 && run.text.contains("50 samples, 50 copied now"), "\(run.text)")
            // Its batch numbers are not exported. Its times are on the collector's clock.
            session.devices[left.device]?.lastNumbers = nil
            let found = try content("sqlite:\(folder)/b.db")
            #expect(found.sessions == [session])
            #expect(found.samples.count == 50 && found.samples[0] == [2_000_000, 20, 0, -1])
            let clocks = try StoreReader(path: folder + "/b.db").storedClocks(of: left).map(\.point)
            #expect(clocks.dropLast().allSatisfy { $0.offset == 0 && $0.bound >= 150 } && clocks.last == other)
            for store in ["a.db", "b.db"] {
                let again = try await importSession(folder, to: store)
                #expect(again.status == 1 && again.text.contains("has the session 'walk-3' already"), "\(again.text)")
            }
            // The samples of a deleted session stay: in the first store with the times of the device.
            session.state = .deleted
            group = IngestGroup()
            group.sessions = [session]
            for (store, status, text) in [("a.db", 1, "has other samples"), ("b.db", 0, "50 samples, 0 copied now")] {
                try write(group, to: "\(folder)/\(store)")
                let again = try await importSession(folder, to: store)
                #expect(again.status == status && again.text.contains(text), "\(again.text)")
            }
        }
    }

    @Test("a folder that has something else than all samples of the session is refused before anything is written")
    func damagedFolder() async throws {
        try await withTemporaryFolder { folder in
            try prepare(folder + "/a.db")
            #expect(try await export(folder).status == 0)
            func file(_ name: String) -> String { "\(folder)/walk-3/\(name)" }
            let samples = try String(contentsOfFile: file("accelerometer.csv"), encoding: .utf8)
            let json = try String(contentsOfFile: file("session.json"), encoding: .utf8)
            let first = "default,left,motion/accelerometer,\(Self.start + 2_000_000),"
            func changed(_ old: String, _ new: String) -> String {
                #expect(samples.contains(old))
                return samples.replacingOccurrences(of: old, with: new)
            }
            let header = "group,device,stream,t,time,x,y,z,bound_us"
            let noSample = "line 2: this is no sample of the session"
            for (name, text, reason) in [
                ("accelerometer.csv", nil, "0 of 50 samples of 'motion/accelerometer' of 'left'"),
                ("accelerometer.csv", changed(header, header.replacing("x", with: "X")), "the first line of"),
                ("accelerometer.csv", changed(first, first.replacing("left", with: "right")), noSample),
                ("accelerometer.csv", changed(first, first.replacing("motion", with: "device")), noSample),
                ("accelerometer.csv", changed(first, first.replacing("default", with: "lab")), noSample),
                ("accelerometer.csv", changed("\(Self.start + 2_000_000)", "\(Self.start + 7_000_000)"), noSample),
                ("accelerometer.csv", changed(",20.0,", ",inf,"), noSample),
                ("accelerometer.csv", changed(",20.0,", ",,"), noSample),
                (
                    "gyroscope.csv",
                    header + "\n" + first.replacing("accelerometer", with: "gyroscope") + "now,1,2,3,150\n",
                    "1 of 0 samples of 'motion/gyroscope'"
                ),
                ("session.json", "{}", "is not a session"),
                ("session.json", json.replacing("\"complete\"", with: "\"recording\""), "has not ended"),
                ("accelerometer.parquet", "", "with --format csv"), ("notes.csv", "", "remove it if it is not of"),
            ] as [(String, String?, String)] {
                let before = try? Data(contentsOf: URL(filePath: file(name)))
                if let text {
                    try text.write(toFile: file(name), atomically: true, encoding: .utf8)
                } else {
                    try FileManager.default.removeItem(atPath: file(name))
                }
                let refused = try await importSession(folder, to: "c.db")
                #expect(refused.status == 1 && refused.text.contains(reason), "\(reason): \(refused.text)")
                try? FileManager.default.removeItem(atPath: file(name))
                try before?.write(to: URL(filePath: file(name)))
            }
            let reader = try StoreReader(path: folder + "/c.db")
            #expect(try reader.sessions().isEmpty && reader.devices().isEmpty)
        }
    }

    @Test("the folder of a session may have Parquet files")
    func parquet() async throws {
        try await withTemporaryFolder { folder in
            try prepare(folder + "/a.db")
            let out = folder + "/walk-3"
            let exported = try await export(folder, ["--format", "parquet"])
            #expect(exported.text == "\(out): accelerometer.parquet, markers.csv, session.json\n")
            let file = try Data(contentsOf: URL(filePath: out + "/accelerometer.parquet"))
            #expect(file.starts(with: Data("PAR1".utf8)) && file.count > 1000)
        }
    }

    @Test("all estimates of a clock that is an hour ahead are copied that belong to the time of the session")
    func clocks() async throws {
        try await withTemporaryFolder { folder in
            try prepare(folder + "/a.db", offset: 3_600_000_000)
            let run = try await copy("sqlite:\(folder)/a.db", "sqlite:\(folder)/b.db")
            #expect(run.status == 0, "\(run.text)")
            let clocks = try StoreReader(path: folder + "/b.db").storedClocks(of: left)
            #expect(
                clocks.map { $0.point.time.microseconds - Self.start - 3_600_000_000 } == [0, 5_000_000, 10_000_000])
        }
    }

    @Test("a repeated copy takes the markers out that have left the session since the first one")
    func split() async throws {
        try await withTemporaryFolder { folder in
            var session = try prepare(folder + "/a.db")
            let (from, to) = ("sqlite:\(folder)/a.db", "sqlite:\(folder)/b.db")
            #expect(try await copy(from, to).status == 0)
            session.end = Timestamp(microseconds: Self.start + 2_500_000)
            var group = IngestGroup()
            group.sessions = [session]
            group.splits = [(session.key, ["m"])]
            try write(group, to: folder + "/a.db")
            #expect(try await copy(from, to).status == 0)
            let copied = try StoreReader(path: folder + "/b.db").sessions()
            #expect(copied.map(\.end) == [session.end] && copied.map(\.markers) == [[]])
        }
    }

    @Test("another session with the same id is kept, and a sample with another value is reported")
    func differences() async throws {
        try await withTemporaryFolder { folder in
            let (from, to) = ("sqlite:\(folder)/a.db", "sqlite:\(folder)/b.db")
            let session = try prepare(folder + "/a.db")
            try write(
                IngestGroup(batches: [received(block([Self.start + 3_250_000], x: [-7]), "left", nil)]),
                to: folder + "/b.db")
            let run = try await copy(from, to)
            #expect(run.status == 1 && run.text.contains("0 missing and 1 with other values"), "\(run.text)")
            var other = session
            other.created = Timestamp(microseconds: 5)
            other.name = "another"
            var group = IngestGroup()
            group.sessions = [other]
            try write(group, to: folder + "/c.db")
            let refused = try await copy(from, "sqlite:\(folder)/c.db")
            #expect(refused.status == 1 && refused.text.contains("has another session with the id 'walk-3'"))
            #expect(try StoreReader(path: folder + "/c.db").sessions().map(\.name) == ["another"])
        }
    }

    @Test(
        "a session is copied to a ClickHouse database, and from there to a file",
        .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
    func database() async throws {
        try await withTemporaryFolder { folder in
            let session = try prepare(folder + "/a.db")
            try await withClickHouse { server in
                let (from, to) = ("sqlite:\(folder)/a.db", "sqlite:\(folder)/b.db")
                for copied in [50, 0] {
                    let run = try await copy(from, server.url())
                    #expect(run.status == 0 && run.text.contains("\(copied) copied now"), "\(run.text)")
                }
                let devices = try StoreAddress(server.url()).reader().devices()
                #expect(devices.map(\.address) == [left] && devices.map(\.samples) == [0], "no counters are copied")
                let stored = try content(server.url())
                #expect(stored.sessions == [session] && stored.samples.count == 50)
                let run = try await copy(server.url(), to)
                #expect(run.status == 0, "\(run.text)")
                let copied = try content(to)
                #expect(copied.sessions == [session] && copied.samples == stored.samples)
            }
        }
    }
}
