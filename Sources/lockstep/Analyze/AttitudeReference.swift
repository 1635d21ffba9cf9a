import LockstepModel
import LockstepMotion
import LockstepSensors

/// The reference attitudes of a recording, for instance of an optical motion capture system.
struct AttitudeReference {
    /// The headers of the columns with the reference attitude and the rows to compare.
    static let columns = ["qw", "qx", "qy", "qz", "movement"]

    /// The attitudes (device to earth) of the rows to compare, by time in µs.
    private var attitudes: [Int64: Quaternion] = [:]

    /// Reads the reference attitudes; returns nil if the recording has none.
    init?(_ recording: Recording) {
        guard let w = recording.column("qw"), let x = recording.column("qx"), let y = recording.column("qy"),
            let z = recording.column("qz")
        else { return nil }
        let movement = recording.column("movement")
        for (row, time) in recording.times.enumerated() where movement.map({ $0[row] == 1 }) ?? true {
            let quaternion = Quaternion(scalar: w[row], vector: SIMD3(x[row], y[row], z[row]))
            guard w[row].isFinite, x[row].isFinite, y[row].isFinite, z[row].isFinite else { continue }
            attitudes[time] = quaternion
        }
    }

    /// Returns the error of the motions, or nil if none has a reference.
    func error(of motions: [DeviceMotion]) -> AttitudeError? {
        AttitudeError(
            motions.compactMap { motion in
                attitudes[motion.timestamp.microseconds].map { (motion.attitude.quaternion, $0) }
            })
    }
}
