import LockstepCommandLine
import LockstepMotion
import LockstepWire

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
