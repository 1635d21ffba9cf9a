import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepWire

/// The result of `lockstep analyze steps`, as text and as JSON.
struct StepReport {
    let samples: SampleBlock
    let walks: [WalkingInterval]
    let notes: RecordingNotes

    private var start: Int64 { samples.times.first ?? 0 }
    private var seconds: Double { Double((samples.times.last ?? 0) - start) / 1e6 }

    func text(for terminal: Terminal) -> String {
        guard let total = WalkingInterval.total(walks) else {
            return "no steps in \(counted(samples.count, "sample")) over \(fixed(seconds, 2)) s\n" + notes.lines
        }
        let times = RecordingTimes(start: start)
        let titles = [
            times.title, "DURATION (s)", "STEPS", "DISTANCE (m)", "PACE (s/m)", "CADENCE (steps/s)",
        ]
        var table = Table(titles.map { Table.Column($0, isRightAligned: true) })
        for walk in walks {
            table.rows.append([
                .init(times.text(walk.start)), .init(fixed(Double(walk.end - walk.start) / 1e6, 2)),
                .init("\(walk.steps)", .bold), .init(fixed(walk.distance, 1)), .init(fixed(walk.pace, 2)),
                .init(fixed(walk.cadence, 2)),
            ])
        }
        let summary =
            counted(total.steps, "step") + ", \(fixed(total.distance, 1)) m in \(fixed(total.seconds, 2)) s of walking"
            + " (\(fixed(total.pace, 2)) s/m, \(fixed(total.cadence, 2)) steps/s); \(fixed(seconds, 2)) s recorded"
        return table.lines(for: terminal).joined(separator: "\n") + "\n" + summary + "\n" + notes.lines
    }

    /// The JSON object; times in µs as in the recording, durations in s. `walked` is the walking time without short
    /// pauses.
    var json: String {
        var object = JSONObjectWriter()
        object.member("samples", Int64(samples.count))
        object.member("duration", resolved(seconds, decimals: 6))
        object.member("steps", Int64(WalkingInterval.total(walks)?.steps ?? 0))
        if let total = WalkingInterval.total(walks) { total.write(into: &object) }
        object.member("walks", walks) { writer, walk in
            writer.object { object in
                object.member("t", walk.start)
                object.member("duration", resolved(Double(walk.end - walk.start) / 1e6, decimals: 6))
                object.member("steps", Int64(walk.steps))
                walk.write(into: &object)
            }
        }
        notes.add(to: &object)
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }
}

extension WalkingInterval {
    /// Writes the members that a walk and the total have in common.
    fileprivate func write(into object: inout JSONObjectWriter) {
        object.member("walked", resolved(seconds, decimals: 6))
        object.member("distance", resolved(distance, decimals: 3))
        object.member("pace", resolved(pace, decimals: 3))
        object.member("cadence", resolved(cadence, decimals: 3))
    }
}
