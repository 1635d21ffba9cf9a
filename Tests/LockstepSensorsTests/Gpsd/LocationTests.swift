import LockstepModel
import LockstepMotion
import LockstepSensors
import LockstepTestSupport
import SensorTestSupport
import Testing

@Suite("Location errors and old receivers")
struct LocationTests {
    @Test("the status of a source maps to one of three location errors, or to none")
    func statuses() {
        let cases: [(SourceStatus, LocationError?)] = [
            (.running, nil), (.ended, nil),
            (.waiting("no fix"), .locationUnknown("no fix")),
            (.waiting("gpsd has no receiver"), .locationUnknown("gpsd has no receiver")),
            (.stale("last fix 12 s ago"), .locationUnknown("last fix 12 s ago")),
            (.unavailable("gpsd at h:1: Connection refused"), .network("gpsd at h:1: Connection refused")),
            (.unavailable("/dev/ttyS0: Permission denied"), .denied("/dev/ttyS0: Permission denied")),
            (.unavailable("h: Operation not permitted"), .denied("h: Operation not permitted")),
            (.waiting("gpsd reports an error: Permission denied"), .denied("gpsd reports an error: Permission denied")),
        ]
        for (status, error) in cases { #expect(status.locationError == error) }
    }

    @Test("without gpsd the error is a network error")
    func network() async throws {
        let port = try RefusingPort()
        let source = GpsdSource(address: GpsdAddress(host: "localhost", port: port.number))
        let statuses = try await withRunning(source) { sink in
            #expect(await sink.wait { !$0.statuses.isEmpty })
            return sink.seen.statuses
        }
        let text = "gpsd at localhost:\(port.number): Connection refused"
        #expect(statuses.first?.locationError == .network(text))
        #expect("\(LocationError.network(text))" == "location source not reachable, retrying: \(text)")
    }

    @Test(
        "the first fixes of a recorded receiver are rejected as twenty years off, and the others are accepted as stale",
        .enabled(if: sharedData != nil && GpsFake.isInstalled), .timeLimit(.minutes(10)))
    func rollover() async throws {
        let last = try #require(Timestamp("2005-07-01"))
        var received: SampleBlock?
        // Occasionally gpsfake does not pass its receiver to gpsd, or starts in the middle of the log.
        for _ in 0..<4 where received == nil { received = try await Self.listen(last: last) }
        let samples = try #require(received, "the beginning of the receiver's log was never received")
        var filter = LocationFilter()
        for index in samples.times.indices {
            let time = Timestamp(microseconds: samples.times[index])
            // Arrival times are on the boot clock; a device converts them to its time line.
            let arrival = Timestamp(microseconds: 1_795_000_000_000_000) + time.microseconds
            let values = samples.values(at: index)
            guard !values[0].isNaN, !values[8].isNaN else { continue }
            let decision = filter.update(time: arrival, values: values)
            if values[8] < Double(last.microseconds) {
                guard case .rejected(.clock(let off)) = decision else {
                    Issue.record("\(decision)")
                    continue
                }
                #expect(off < -20 * 365 * 86_400)
            } else {
                guard case .accepted(_, let current) = decision else {
                    Issue.record("\(decision)")
                    continue
                }
                #expect(current.isStale)
                #expect(abs(current.coordinate.latitude - 46.4983) < 0.001)
            }
        }
        #expect(filter.previous != nil)
    }

    /// Plays the receiver's log and returns its fixes: some that are twenty years off and at least five others. Returns
    /// nil if they do not arrive.
    /// - Parameter last: A time between those of both kinds of fixes.
    private static func listen(last: Timestamp) async throws -> SampleBlock? {
        let port = try freePort()
        let source = GpsdSource(address: GpsdAddress(host: "localhost", port: port))
        // gpsfake repeats the log, so its beginning follows its end.
        return try await withRunning(source) { sink in
            try await GpsFake.with(log: sharedFile("gps/bu303-moving.log"), port: port, delay: 0.05, sink: sink) {
                let isComplete = await sink.wait(seconds: 40) { seen in
                    let times = seen.samples(.location).columns[8]
                    return times.contains { $0 < Double(last.microseconds) }
                        && times.count { $0 > Double(last.microseconds) } >= 5
                }
                return isComplete ? sink.seen.samples(.location) : nil
            }
        }
    }
}
