import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors

struct AnalyzeActivityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activity",
        abstract: "List what the person did: walking, running, cycling, automotive, stationary.",
        usage: "lockstep analyze activity <file> [<options>]",
        discussion: """
            Each activity has its start and its confidence: low, medium or high. 'unknown' is what is none of them, or \
            not sure. The speed of a location in the recording is used.

            EXAMPLE
              lockstep analyze activity day.csv
            """)

    @Argument(help: "A recording with a three-axis accelerometer, and lat,lon,speed_m_s if it has them.")
    var file: String

    @OptionGroup var recording: RecordingOptions

    func run() throws {
        let (recording, samples) = try self.recording.open(file)
        let intervals = ActivityInterval.all(in: samples, location: recording.samples(of: .location))
        let times = RecordingTimes(start: samples.times.first ?? 0)
        var table = Table([.right(times.title), .right("DURATION (s)"), "ACTIVITY", "CONFIDENCE"])
        for interval in intervals {
            table.rows.append([
                .init(times.text(interval.activity.startDate.microseconds)), .init(fixed(interval.seconds, 0)),
                .init(interval.activity.kind.rawValue, .bold), .init(interval.activity.confidence.rawValue),
            ])
        }
        let lines = intervals.isEmpty ? ["no activity recognised"] : table.lines(for: .output)
        Terminal.output.write(lines.joined(separator: "\n") + "\n" + RecordingNotes(recording, [samples]).lines)
    }
}

struct ActivityInterval {
    /// The activity, with the greatest confidence that it reached.
    var activity: MotionActivity
    /// The start of the next activity, or the end of the recording, in µs.
    var end: Int64

    /// The duration, in s.
    var seconds: Double { Double(end - activity.startDate.microseconds) / 1e6 }

    /// Returns the successive activities of a recording.
    static func all(in accelerometer: SampleBlock, location: SampleBlock?) -> [ActivityInterval] {
        var estimator = ActivityEstimator()
        var intervals: [ActivityInterval] = []
        let end = accelerometer.times.last ?? 0
        var fix = 0
        for first in stride(from: 0, to: accelerometer.count, by: 50) {
            let part = accelerometer[first..<min(first + 50, accelerometer.count)]
            while let location, fix < location.count, location.times[fix] <= part.times.last ?? 0 {
                _ = estimator.update(location[fix..<fix + 1])
                fix += 1
            }
            let rows = estimator.update(part)
            for activity in rows.times.indices.compactMap({ MotionActivity(row: rows.values(at: $0)) }) {
                if let last = intervals.popLast(), last.activity.startDate != activity.startDate {
                    intervals.append(ActivityInterval(activity: last.activity, end: activity.startDate.microseconds))
                }
                intervals.append(ActivityInterval(activity: activity, end: end))
            }
        }
        return intervals
    }
}
