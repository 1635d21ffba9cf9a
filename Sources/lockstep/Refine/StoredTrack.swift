import Glibc
import LockstepModel
import LockstepMotion
import LockstepStore

/// The stored fixes, steps and headings of a device.
struct StoredTrack {
    private static let window: Int64 = 600_000_000
    /// The longest row of steps, in µs, whose headings are read.
    private static let maxSteps: Int64 = 60_000_000

    let input: RefinedInput

    enum Event {
        case fix(LocationFix)
        case steps(StepVelocity)

        var time: Int64 {
            switch self {
            case .fix(let fix): fix.time.microseconds
            case .steps(let velocity): velocity.time
            }
        }
    }

    /// Calls `each` with fixes and steps around the time range, in order of time.
    func read(each: (Event) throws -> Void) throws {
        try input.windows(
            of: Self.window, margin: TrackSmoother.margin, begin: .location, next: [.location, .steps]
        ) { begin, limit in
            var events: [Event] = []
            try input.read(.location, from: begin, to: limit) { time, values in
                if let fix = LocationFix(time: time, values: values) { events.append(.fix(fix)) }
            }
            events += try steps(begin, limit).map(Event.steps)
            try events.sorted { $0.time < $1.time }.forEach(each)
        }
    }

    /// Returns the velocities of the rows of steps during which the heading is known.
    private func steps(_ begin: Timestamp, _ limit: Timestamp) throws -> [StepVelocity] {
        var rows: [(start: Int64, end: Int64, distance: Double)] = []
        try input.read(.steps, from: begin, to: limit) { time, values in
            let (start, distance) = (values[0], values[2])
            guard distance.isFinite, start.magnitude < 0x1p53, Double(time.microseconds) > start,
                Double(time.microseconds) - start <= Double(Self.maxSteps)
            else { return }
            rows.append((Int64(start), time.microseconds, distance))
        }
        guard let first = rows.first, let last = rows.last else { return [] }
        var headings: [(time: Int64, east: Double, north: Double)] = []
        try input.read(
            .heading, from: Timestamp(microseconds: first.start), to: Timestamp(microseconds: last.end) + 1
        ) { time, values in
            // Any constant difference between both norths is part of the angle between device and walk.
            let angle = (values[1].isFinite ? values[1] : values[0]) * .pi / 180
            headings.append((time.microseconds, sin(angle), cos(angle)))
        }
        var low = 0
        return rows.compactMap { row in
            while low < headings.count, headings[low].time <= row.start { low += 1 }
            let during = headings[low...].prefix { $0.time <= row.end }
            guard !during.isEmpty else { return nil }
            let east = during.reduce(0) { $0 + $1.east }
            let north = during.reduce(0) { $0 + $1.north }
            return StepVelocity(
                time: row.end, speed: row.distance / Double(row.end - row.start) * 1e6,
                heading: atan2(east, north) * 180 / .pi)
        }
    }
}
