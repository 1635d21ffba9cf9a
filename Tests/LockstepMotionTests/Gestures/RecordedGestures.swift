import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepSensors

/// Returns the recordings of a folder's table in whose acceleration a gesture was detected.
/// - Parameters:
///   - isMeant: returns whether a row of the table counts.
///   - isDetected: returns whether the samples have the gesture.
func recordings(
    _ folder: String, where isMeant: ([String: String]) -> Bool = { _ in true },
    with isDetected: (SampleBlock) -> Bool
) throws -> (files: [String], of: Int) {
    let rows = try truthTable("\(folder)/truth.csv").filter(isMeant)
    let files = try rows.compactMap { $0["file"] }.filter { file in
        let recording = try Recording(file: sharedFile("\(folder)/\(file)"))
        return isDetected(try #require(recording.samples(of: .accelerometer)))
    }
    return (files, rows.count)
}
