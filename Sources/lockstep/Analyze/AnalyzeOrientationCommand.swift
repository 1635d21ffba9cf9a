import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepWire

struct AnalyzeOrientationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "orientation", abstract: "List the device orientations with their times.",
        usage: "lockstep analyze orientation <file> [<options>]",
        discussion: """
            Orientations: portrait, portraitUpsideDown, landscapeLeft (top edge to the left), landscapeRight, faceUp, \
            faceDown. The inclination is the mean angle between the normal of the screen and the vertical: 0° lying on \
            its back, 90° upright, 180° lying on its face.

            EXAMPLES
              lockstep analyze orientation held.csv
              lockstep analyze orientation android.csv --sign specific-force --json
            """)

    @Argument(help: "A recording with a three-axis accelerometer.")
    var file: String

    @Option(help: RecordingSign.help)
    var sign = RecordingSign.lockstep

    @OptionGroup var recordings: RecordingOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let (recording, samples) = try sign.open(file, options: recordings, for: "orientation")
        let report = OrientationReport(
            samples: samples, intervals: OrientationInterval.all(in: samples),
            notes: RecordingNotes(recording, [samples]))
        Terminal.output.write(json ? report.json : report.text(for: .output))
    }
}

/// The result of `lockstep analyze orientation`, as text and as JSON.
struct OrientationReport {
    let samples: SampleBlock
    let intervals: [OrientationInterval]
    let notes: RecordingNotes

    private var start: Int64 { samples.times.first ?? 0 }
    private var seconds: Double { Double((samples.times.last ?? 0) - start) / 1e6 }

    func text(for terminal: Terminal) -> String {
        guard !intervals.isEmpty else {
            return "no orientation detected in \(counted(samples.count, "sample")) over \(fixed(seconds, 2)) s\n"
                + notes.lines
        }
        let times = RecordingTimes(start: start)
        var table = Table([.right(times.title), .right("DURATION (s)"), "ORIENTATION", .right("INCLINATION (°)")])
        for interval in intervals {
            table.rows.append([
                .init(times.text(interval.start)), .init(fixed(interval.seconds, 2)),
                .init(interval.orientation.rawValue, .bold), .init(fixed(interval.inclination * 180 / .pi, 1)),
            ])
        }
        return table.text(for: terminal) + notes.lines
    }

    /// The JSON object; times in µs as in the recording, durations in s, angles in rad.
    var json: String {
        var object = JSONObjectWriter()
        object.member("samples", Int64(samples.count))
        object.member("intervals", intervals) { writer, interval in
            var object = JSONObjectWriter()
            object.member("t", interval.start)
            object.member("orientation", interval.orientation.rawValue)
            var text = String(decoding: object.finish().dropLast(), as: UTF8.self)
            text += ",\"duration\":\(interval.seconds),\"inclination\":\(resolved(interval.inclination, decimals: 6))}"
            writer.raw(text)
        }
        notes.add(to: &object)
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }
}

struct OrientationInterval: Equatable {
    var orientation: DeviceOrientation
    /// The time at which the orientation was detected, in µs as in the recording.
    var start: Int64
    /// The time at which the next orientation was detected, or the end of the recording, in µs.
    var end: Int64
    /// The mean angle between the device's z axis and the vertical, in rad.
    var inclination: Double

    /// The duration, in s.
    var seconds: Double { Double(end - start) / 1e6 }
}

extension OrientationInterval {
    /// Returns the successive intervals of a recording. The first starts when an orientation is detected.
    static func all(in accelerometer: SampleBlock) -> [OrientationInterval] {
        var detector = OrientationDetector()
        var intervals: [OrientationInterval] = []
        var sum = 0.0
        var count = 0.0
        let columns = accelerometer.columns
        for (index, time) in accelerometer.times.enumerated() {
            let change = detector.update(time: time, x: columns[0][index], y: columns[1][index], z: columns[2][index])
            if let change {
                (sum, count) = (0, 0)
                intervals.append(OrientationInterval(orientation: change, start: time, end: time, inclination: 0))
            }
            guard let last = intervals.indices.last else { continue }
            if let gravity = detector.gravity, let inclination = Inclination(gravity: gravity) {
                sum += inclination.angle
                count += 1
            }
            if last > 0, intervals[last].start == time { intervals[last - 1].end = time }
            intervals[last].end = time
            intervals[last].inclination = count > 0 ? sum / count : 0
        }
        return intervals
    }
}
