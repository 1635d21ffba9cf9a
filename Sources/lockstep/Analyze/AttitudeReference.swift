import LockstepModel
import LockstepMotion
import LockstepSensors

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
