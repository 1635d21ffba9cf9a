import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors
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

extension AttitudeReport {
    /// The lines about the calibration of the magnetometer and its quality; empty if it was not calibrated.
    var calibrationLines: [(String, String)] {
        guard let calibration else { return [] }
        var quality = "accuracy \(calibration.accuracy)"
        if let residual = calibration.residual { quality += ", residual \(fixed(residual, 2)) µT RMS" }
        quality += ", \(fixed(100 * calibration.coverage, 0)) % of directions covered"
        let offset = (0..<3).map { fixed(calibration.offset[$0], 1) }.joined(separator: ", ")
        switch calibration.kind {
        case .none:
            let result = calibration.accuracy == .uncalibrated ? "not calibrated" : "no correction needed"
            return [("field", result), ("", quality)]
        case .hardIron: return [("field", "hard iron (\(offset)) µT removed"), ("", quality)]
        case .softIron:
            let ratio = fixed(calibration.axisRatio, 2)
            return [("field", "hard iron (\(offset)) µT and soft iron (axes \(ratio) to 1) removed"), ("", quality)]
        }
    }

    /// Writes the calibration, if there is one.
    func addCalibration(to object: inout JSONObjectWriter) {
        guard let calibration else { return }
        object.member("calibration") { part in
            part.member("kind", calibration.kind.rawValue)
            part.member("offset", (0..<3).map { resolved(calibration.offset[$0], decimals: 2) }) { $0.raw("\($1)") }
            part.member("axis_ratio", resolved(calibration.axisRatio, decimals: 4))
            if let residual = calibration.residual { part.member("residual", resolved(residual, decimals: 3)) }
            part.member("coverage", resolved(calibration.coverage, decimals: 3))
            part.member("accuracy", Int64(calibration.accuracy.rawValue))
        }
    }
}

/// The reference attitudes of a recording, for instance of an optical motion capture system.
struct AttitudeReference {
    /// The headers of the columns with the reference attitude and the rows to compare.
    static let columns = ["qw", "qx", "qy", "qz", "movement"]

    /// The attitudes (device to earth) of the rows to compare, by time in µs. Of several rows with one time it is the first,
    /// as for the samples.
    private var attitudes: [Int64: Quaternion] = [:]
    /// The number of rows whose quaternion is no attitude: systems write (0, 0, 0, 0) when they lose the object.
    private(set) var lost = 0

    /// The squared lengths of quaternions that are attitudes; they are rounded to few decimals.
    private static let squaredLengths = 0.8...1.2

    /// Reads the reference attitudes; returns nil if the recording has none.
    init?(_ recording: Recording) {
        guard let w = recording.column("qw"), let x = recording.column("qx"), let y = recording.column("qy"),
            let z = recording.column("qz")
        else { return nil }
        let movement = recording.column("movement")
        for (row, time) in recording.times.enumerated() where movement.map({ $0[row] == 1 }) ?? true {
            guard w[row].isFinite, x[row].isFinite, y[row].isFinite, z[row].isFinite else { continue }
            let squared = w[row] * w[row] + x[row] * x[row] + y[row] * y[row] + z[row] * z[row]
            guard Self.squaredLengths.contains(squared) else {
                lost += 1
                continue
            }
            let scale = 1 / squared.squareRoot()
            guard attitudes[time] == nil else { continue }
            attitudes[time] = Quaternion(
                scalar: w[row] * scale, vector: SIMD3(x[row] * scale, y[row] * scale, z[row] * scale))
        }
    }

    /// Returns the error of the motions, or nil if none of them has a reference.
    func error(of motions: [DeviceMotion]) -> AttitudeError? {
        AttitudeError(
            motions.compactMap { motion in
                attitudes[motion.timestamp.microseconds].map { (motion.attitude.quaternion, $0) }
            })
    }

    /// Whether there are references to compare with: a result without an error is then a mistake in the recording.
    var isEmpty: Bool { attitudes.isEmpty }

    /// Returns what the error of `motions` does not contain.
    func notes(of motions: [DeviceMotion]) -> [String] {
        var notes: [String] = []
        if lost > 0 {
            notes.append(
                counted(lost, "row has", "rows have") + " no reference: (qw,qx,qy,qz) is no attitude, such as (0,0,0,0)"
                    + (attitudes.isEmpty ? "; there is no error" : ""))
        }
        let unmatched = Set(attitudes.keys).subtracting(motions.map(\.timestamp.microseconds)).count
        if unmatched > 0 {
            notes.append(
                counted(unmatched, "reference has", "references have")
                    + " no attitude at the same time, and \(unmatched == 1 ? "is" : "are") not compared")
        }
        return notes
    }
}
