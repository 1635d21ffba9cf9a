import Glibc
import LockstepModel
import LockstepTestSupport
import SensorTestSupport
import Testing

@testable import LockstepSensors

@Suite("gpsd source")
struct GpsdSourceTests {
    static let isPossible = sharedData != nil && GpsFake.isInstalled

    /// The time limit of a prompt reaction: long, because the machine may be busy with other tests.
    static let promptly = Duration.seconds(30)

    private func source(_ port: UInt16, stamping: Stamping = .now) -> GpsdSource {
        GpsdSource(address: GpsdAddress(host: "localhost", port: port), stamping: stamping)
    }

    @Test(
        "fixes of recorded receivers through gpsd match gpsd's regression tests, and each is delivered once",
        .enabled(if: isPossible), .timeLimit(.minutes(10)),
        arguments: ["bu303-moving", "sirfstarv-nmea"])
    func receivers(log: String) async throws {
        let check = try GpsdCheckFile(log)
        let minCount = check.times.count / 2
        let port = try freePort()
        let seen = try await withRunning(source(port)) { sink in
            try await GpsFake.with(log: sharedFile("gps/\(log).log"), port: port, delay: 0.05, sink: sink) {
                #expect(
                    await sink.wait {
                        Set($0.samples(.location).columns[8].filter { !$0.isNaN }).count >= minCount
                    }, "\(sink.seen.statuses)")
                return sink.seen
            }
        }
        let samples = seen.samples(.location)
        #expect(seen.clocks == [.boot])
        #expect(zip(samples.times, samples.times.dropFirst()).allSatisfy { $0 < $1 })
        let expected = Dictionary(grouping: check.reports.filter { $0.time != nil && $0.isFix }) {
            GpsdCheckFile.withoutRollover($0.time?.microseconds ?? 0)
        }
        let timed = samples.times.indices.map { samples.values(at: $0) }.filter { !$0[8].isNaN && $0[7] >= 2 }
        #expect(timed.count >= minCount)
        #expect(Set(timed.map { $0[8] }).count == timed.count)
        for fix in timed {
            let same = try #require(expected[GpsdCheckFile.withoutRollover(Int64(fix[8]))])
            #expect(same.contains { $0.isNear(latitude: fix[0], longitude: fix[1], within: 0) })
        }
    }

    @Test(
        "a terminated gpsd is reported once, and fixes resume after its restart", .enabled(if: isPossible),
        .timeLimit(.minutes(10)))
    func reconnect() async throws {
        let port = try freePort()
        let log = sharedFile("gps/navisys-gr701w.log")
        try await withRunning(source(port)) { sink in
            try await GpsFake.with(log: log, port: port, delay: 0.02, sink: sink) {
                #expect(await sink.wait { $0.statuses.last == .running }, "\(sink.seen.statuses)")
            }
            #expect(await sink.wait { if case .unavailable = $0.statuses.last { true } else { false } })
            let before = sink.seen.samples(.location).count
            let reports = sink.seen.statuses.count
            try await GpsFake.with(log: log, port: port, delay: 0.02, sink: sink) {
                #expect(
                    await sink.wait { $0.statuses.last == .running && $0.samples(.location).count > before },
                    "\(sink.seen.statuses)")
            }
            // While gpsd starts, the reason may change, but no status is repeated.
            let later = sink.seen.statuses.dropFirst(reports - 1)
            #expect(zip(later, later.dropFirst()).allSatisfy { $0 != $1 }, "\(later)")
        }
    }

    @Test("without gpsd the source reports the address and the reason, and ends promptly when cancelled")
    func refused() async throws {
        let port = try RefusingPort()
        let clock = ContinuousClock()
        var cancelled = clock.now
        let seen = try await withRunning(source(port.number)) { sink in
            #expect(await sink.wait { !$0.statuses.isEmpty })
            cancelled = clock.now
            return sink.seen
        }
        #expect(clock.now - cancelled < Self.promptly)
        let reason = "Connection refused: start gpsd, or name its machine with gpsd://HOST"
        #expect(seen.statuses == [.unavailable("gpsd at localhost:\(port.number): \(reason)")])
        #expect(seen.blocks.isEmpty)
    }

    @Test("a server that sends nothing does not delay a cancellation", .timeLimit(.minutes(10)))
    func silent() async throws {
        let server = try SilentServer()
        let port = server.port
        let clock = ContinuousClock()
        let running = Task {
            try await GpsdSource(address: GpsdAddress(host: "127.0.0.1", port: port)).run(into: RecordingSink())
        }
        // After its request the source waits for reports.
        let connection = try await server.waitForRequest()
        defer { close(connection) }
        let cancelled = clock.now
        running.cancel()
        try await running.value
        #expect(clock.now - cancelled < Self.promptly)
        _ = consume server
    }

    @Test(
        "the source disconnects while locations are not requested and reconnects when they are",
        .timeLimit(.minutes(10)))
    func withoutRequests() async throws {
        let server = try SilentServer()
        let port = server.port
        let source = GpsdSource(address: GpsdAddress(host: "127.0.0.1", port: port))
        let sink = RecordingSink()
        let running = Task { try await source.run(into: sink) }
        for _ in 1...3 {
            try await server.waitForClient()
            source.setRates([.accelerometer: 100])
            try await server.waitForDisconnect()
            source.setRates([.location: .infinity])
        }
        try await server.waitForClient()
        #expect(sink.seen.statuses.isEmpty)
        source.setRates([:])
        running.cancel()
        try await running.value
        _ = consume server
    }

    @Test("an unknown host is reported")
    func unknownHost() async throws {
        let source = GpsdSource(address: GpsdAddress(host: "no.such.host.invalid", port: 1))
        let statuses = try await withRunning(source) { sink in
            #expect(await sink.wait { !$0.statuses.isEmpty })
            return sink.seen.statuses
        }
        #expect(statuses.first?.description.hasPrefix("unavailable: gpsd at no.such.host.invalid:1: ") == true)
    }
}

extension PositionReport {
    /// Returns whether latitude and longitude are within `tolerance` degrees of these.
    fileprivate func isNear(latitude: Double, longitude: Double, within tolerance: Double) -> Bool {
        guard let north = self.latitude, let east = self.longitude else { return false }
        return abs(north - latitude) <= tolerance && abs(east - longitude) <= tolerance
    }
}
