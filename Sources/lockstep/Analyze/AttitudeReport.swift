import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepWire

/// What `lockstep analyze attitude` found, as text and as JSON.
struct AttitudeReport {
    let sensors: [SampleBlock]
    let motions: [DeviceMotion]
    let wanted: AttitudeReferenceFrame
    let error: AttitudeError?
    let calibration: MagneticCalibration?
    let out: String?

    private var streams: [SensorStream] { sensors.map(\.stream) }
    private var times: [Int64] { motions.map(\.timestamp.microseconds) }
    private var seconds: Double { Double((times.last ?? 0) - (times.first ?? 0)) / 1e6 }
    private var frame: AttitudeReferenceFrame { motions.last?.referenceFrame ?? .arbitrary }
    private var isDead: Bool {
        sensors.first { $0.stream == .accelerometer }?.columns.allSatisfy { $0.allSatisfy { $0 == 0 } } ?? false
    }

    /// What there is to know of an attitude that is less than it could be.
    private var remarks: [String] {
        var remarks: [String] = []
        if !streams.contains(.gyroscope) {
            remarks.append("no gyroscope: the attitude is right only while the device is held still")
        }
        if !streams.contains(.magnetometer) {
            let what = streams.contains(.gyroscope) ? "drifts" : "is not known"
            remarks.append("no magnetometer: the heading \(what), and the frame is arbitrary")
        } else {
            let others = motions.count { $0.referenceFrame != wanted }
            if others > 0 {
                remarks.append("\(others) samples are not in the frame \(wanted.rawValue): see column frame")
            }
        }
        return remarks
    }

    func text(for terminal: Terminal) -> String {
        guard !motions.isEmpty else {
            return isDead
                ? "no attitude: the accelerometer reads zero on all axes, all the time\n"
                : "no attitude in this recording\n"
        }
        let rate = seconds > 0 ? Double(motions.count - 1) / seconds : 0
        var lines: [(String, String)] = [
            ("samples", "\(motions.count) over \(fixed(seconds, 2)) s, \(fixed(rate, 1)) a second"),
            ("sensors", streams.map(\.table).joined(separator: ", ")),
            ("frame", frame.rawValue),
        ]
        lines += calibrationLines
        if let error {
            let degrees = { (angle: Double) in fixed(angle * 180 / .pi, 2) + "°" }
            lines += [
                ("error", "\(degrees(error.total)) in total, \(degrees(error.inclination)) in inclination (RMS)"),
                ("", "of \(error.count) rows, headings \(degrees(error.headingOffset)) apart"),
            ]
        }
        lines += remarks.map { ("note", $0) }
        if let out { lines.append(("written", out)) }
        return lines.map { name, text in
            terminal.styled(name + String(repeating: " ", count: 9 - name.count), .faint) + text + "\n"
        }.joined()
    }

    /// Durations in s, angles in rad.
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
        if !remarks.isEmpty { object.member("notes", remarks) { $0.string($1) } }
        object.member("out", ifPresent: out)
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }
}
