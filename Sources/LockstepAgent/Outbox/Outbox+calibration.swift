import FoundationEssentials
import LockstepModel
import LockstepWire

/// A calibration, and the sensors that it belongs to.
struct SensorCalibration: Hashable {
    var calibration: InertialCalibration
    /// The names of the sensors, see `AgentState.motionSensors`.
    var sensors: String
}

/// The calibration of an agent, which lasts as long as its outbox.
extension Outbox {
    /// Returns the calibration that was stored last; nil if there is none, or it cannot be read.
    func calibration() -> SensorCalibration? {
        guard let text = try? sql.text("calibration"), let sensors = try? sql.text("calibrated_sensors"),
            let calibration = try? CalibrationJSON.decode(Data(text.utf8))
        else { return nil }
        return SensorCalibration(calibration: calibration, sensors: sensors)
    }

    /// Stores the calibration, or removes it.
    /// - Throws: ``OutboxError``.
    func store(_ calibration: SensorCalibration?) throws {
        try writeTables { sql in
            let values = calibration.map {
                [
                    "calibration": String(decoding: CalibrationJSON.encode($0.calibration), as: UTF8.self),
                    "calibrated_sensors": $0.sensors,
                ]
            }
            for key in ["calibration", "calibrated_sensors"] {
                if let value = values?[key] {
                    try sql.set(key, .text(value))
                } else {
                    try sql.run("DELETE FROM meta WHERE key = ?", .text(key))
                }
            }
        }
    }
}
