import LockstepModel
import LockstepMotion

/// A time interval with one orientation.
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
