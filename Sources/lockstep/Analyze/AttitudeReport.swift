import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepWire

/// The result of `lockstep analyze attitude`, as text and as JSON.
struct AttitudeReport {
    let sensors: [SampleBlock]
    let motions: [DeviceMotion]
    let requestedFrame: AttitudeReferenceFrame
    let error: AttitudeError?
    let calibration: MagneticCalibration?
    /// The origin of the declination; nil unless the requested frame is `trueNorth`.
    let declination: DeclinationSource.Status?
    /// What the recording lacks.
    let recordingNotes: [String]
    /// The path of the written file, if any.
    let out: String?

    private var streams: [SensorStream] { sensors.map(\.stream) }
    private var times: [Int64] { motions.map(\.timestamp.microseconds) }
    private var seconds: Double { Double((times.last ?? 0) - (times.first ?? 0)) / 1e6 }
    private var frame: AttitudeReferenceFrame { motions.last?.referenceFrame ?? .arbitrary }
    /// Whether every accelerometer value is zero, so that the attitude is undefined.
    private var isAlwaysZero: Bool {
        sensors.first { $0.stream == .accelerometer }?.columns.allSatisfy { $0.allSatisfy { $0 == 0 } } ?? false
    }

    /// The limitations of the result.
    private var notes: [String] {
        var notes: [String] = []
        if !streams.contains(.gyroscope) {
            notes.append("no gyroscope: the attitude is valid only while the device is at rest")
        }
        if !streams.contains(.magnetometer) {
            let heading = streams.contains(.gyroscope) ? "drifts" : "is unknown"
            notes.append("no magnetometer: the heading \(heading) and the frame is arbitrary")
        } else {
            if let declination, declination != .given { notes.append("\(declination)") }
            let others = motions.count { $0.referenceFrame != requestedFrame }
            if others > 0 {
                notes.append(
                    counted(others, "sample has", "samples have")
                        + " a frame other than \(requestedFrame.rawValue): see the column 'frame'")
            }
        }
        return notes + recordingNotes
    }

    func text(for terminal: Terminal) -> String {
        guard !motions.isEmpty else {
            return isAlwaysZero
                ? "no attitude: all accelerometer values are zero\n" : "no attitude in this recording\n"
        }
        let rate = seconds > 0 ? Double(motions.count - 1) / seconds : 0
        var lines: [(String, String)] = [
            ("samples", "\(motions.count) in \(fixed(seconds, 2)) s (\(fixed(rate, 1)) Hz)"),
            ("sensors", streams.map(\.table).joined(separator: ", ")),
            ("frame", frame.rawValue),
        ]
        lines += calibrationLines
        if let error {
            let degrees = { (angle: Double) in fixed(angle * 180 / .pi, 2) + "°" }
            lines += [
                ("error", "\(degrees(error.total)) total, \(degrees(error.inclination)) inclination (RMS)"),
                ("", counted(error.count, "row") + ", heading offset \(degrees(error.headingOffset))"),
            ]
        }
        lines += notes.map { ("note", $0) }
        if let out { lines.append(("output", out)) }
        return lines.map { name, text in
            terminal.styled(name + String(repeating: " ", count: 9 - name.count), .faint) + text + "\n"
        }.joined()
    }

    /// The JSON object; durations in s, angles in rad.
    var json: String {
        var object = JSONObjectWriter()
        object.member("samples", Int64(motions.count))
        object.member("duration", seconds)
        object.member("sensors", streams.map(\.name)) { $0.string($1) }
        object.member("frame", frame.rawValue)
        addCalibration(to: &object)
        if let error {
            object.member("error") { part in
                part.member("rows", Int64(error.count))
                part.member("total", resolved(error.total, decimals: 7))
                part.member("inclination", resolved(error.inclination, decimals: 7))
                part.member("heading_offset", resolved(error.headingOffset, decimals: 7))
            }
        }
        if !notes.isEmpty { object.member("notes", notes) { $0.string($1) } }
        object.member("out", ifPresent: out)
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }
}
