import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepSensors

/// Which way up an accelerometer in g counts.
enum RecordingSign: String, CaseIterable, ExpressibleByArgument {
    case lockstep
    case specificForce = "specific-force"

    static let help: ArgumentHelp = """
        What accelerations in g are: lockstep, -1 along what is up; or specific-force, +1, as chips and Android \
        have them. Those in m/s² always are specific force.
        """

    /// A recording with its accelerometer of three axes, -1 g along what is up.
    /// - Parameter extras: headers of columns to read beside those of the streams.
    /// - Throws: ``ReplayError``; ``CommandFailure`` where the file has no such accelerometer.
    func open(
        _ file: String, extras: [String] = [], for purpose: String
    ) throws -> (recording: Recording, accelerometer: SampleBlock) {
        let inG = ["x_g", "ax_g"]
        let inMetric = ["ax_m_s2", "x_m_s2"]
        let recording = try Recording(file: file, extras: inG + inMetric + extras)
        let has = { (names: [String]) in names.contains { recording.column($0) != nil } }
        guard let samples = recording.samples(of: .accelerometer), !samples.isEmpty, has(inG) || has(inMetric) else {
            throw CommandFailure(
                "\(file): no accelerometer of three axes; \(purpose) needs x_g,y_g,z_g or ax_m_s2,ay_m_s2,az_m_s2")
        }
        guard self == .specificForce else { return (recording, samples) }
        guard has(inG) else {
            throw CommandFailure("\(file): --sign is for accelerations in g; these are in m/s², specific force anyway")
        }
        let turned = samples.columns.map { column in column.map { -$0 } }
        return (recording, SampleBlock(stream: .accelerometer, times: samples.times, columns: turned))
    }
}
