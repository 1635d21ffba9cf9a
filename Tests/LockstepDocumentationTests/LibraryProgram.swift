// The complete program of docs/library.md, see LibraryExamples.swift. The program of the tests has a main function already, so
// its attribute is a comment here.

// EXAMPLE program
import LockstepDevice

/// Prints the attitude of the device ten times.
// @main
struct Program {
    static func main() async throws {
        let hub = SensorHub(sources: [try SensorSources.make("simulate:1")])  // or "iio"
        let manager = MotionManager(hub: hub)
        var count = 0
        for try await motion in manager.deviceMotionUpdates(using: .arbitrary) {
            print(motion.attitude.roll, motion.attitude.pitch, motion.attitude.yaw)  // rad
            count += 1
            if count == 10 { break }
        }
    }
}
// END
