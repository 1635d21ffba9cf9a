import LockstepModel
import SensorTestSupport

@testable import LockstepSensors

/// The expected output of gpsd for a receiver's log, from its regression tests.
struct GpsdCheckFile {
    static let logs = [
        "GPSmap-76S", "bu303-moving", "bu303-stillfix", "bu353s4", "mt3339", "navisys-gr701w", "quectel",
        "sirfstarv-nmea",
    ]

    let lines: [String]
    let reports: [PositionReport]

    init(_ log: String) throws {
        lines = try contents(of: sharedFile("gps/\(log).log.chk")).split(whereSeparator: \.isNewline).map(String.init)
            .filter { $0.hasPrefix("{") }
        reports = lines.compactMap { line in
            guard case .position(let report) = try? GpsdReport(line: line.utf8) else { return nil }
            return report
        }
    }

    /// The times of the fixes.
    var times: Set<Timestamp> { Set(reports.filter(\.isFix).compactMap(\.time)) }

    /// Returns the time within a GPS cycle of 1,024 weeks, in µs: gpsd assumes the cycle from the machine's clock.
    static func withoutRollover(_ microseconds: Int64) -> Int64 { microseconds % (1024 * 7 * 86_400_000_000) }
}
