import LockstepModel
import LockstepMotion
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Location errors and old receivers")
struct LocationTests {
    @Test("the status of a source maps to one of three errors, or none")
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
        let port = try freePort()
        let source = GpsdSource(address: GpsdAddress(host: "localhost", port: port))
        let statuses = try await withRunning(source) { sink in
            #expect(await sink.wait { !$0.statuses.isEmpty })
            return sink.seen.statuses
        }
        let text = "gpsd at localhost:\(port): Connection refused"
        #expect(statuses.first?.locationError == .network(text))
        #expect("\(LocationError.network(text))" == "location not reachable, trying again: \(text)")
    }

    @Test(
        "the first fixes of a real receiver are twenty years off and rejected, the others are accepted as old",
        .enabled(if: sharedData != nil && GpsFake.isInstalled), .timeLimit(.minutes(10)))
    func rollover() async throws {
        let last = try #require(Timestamp("2005-07-01"))
        var heard: SampleBlock?
        // Occasionally gpsfake does not pass its receiver to gpsd, or only from the middle of its log.
        for _ in 0..<4 where heard == nil { heard = try await Self.listen(last: last) }
        let samples = try #require(heard, "the receiver was never heard from its beginning")
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

    /// Returns the fixes of the receiver from those twenty years off to five others; nil if they do not arrive.
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
