import LockstepModel
import LockstepMotion
import LockstepSensors
import Testing

@Suite("Location errors")
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
}
