import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepWire

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
        var table = Table([
            .init(times.title, isRightAligned: true), .init("DURATION (s)", isRightAligned: true),
            .init("ORIENTATION"), .init("INCLINATION (°)", isRightAligned: true),
        ])
        for interval in intervals {
            table.rows.append([
                .init(times.text(interval.start)), .init(fixed(interval.seconds, 2)),
                .init(interval.orientation.rawValue, .bold), .init(fixed(interval.inclination * 180 / .pi, 1)),
            ])
        }
        return table.lines(for: terminal).joined(separator: "\n") + "\n" + notes.lines
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
