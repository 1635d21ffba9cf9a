import LockstepModel
import SensorTestSupport

@testable import LockstepSensors

/// What gpsd gave for a receiver's log when its regression tests were written.
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

    /// The times of its fixes.
    var times: Set<Timestamp> { Set(reports.filter(\.isFix).compactMap(\.time)) }

    /// Time within the 1024 weeks after which GPS counts from 0: gpsd guesses which it is from the clock of the machine.
    static func withoutRollover(_ microseconds: Int64) -> Int64 { microseconds % (1024 * 7 * 86_400_000_000) }
}
