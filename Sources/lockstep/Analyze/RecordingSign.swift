import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepSensors

/// The sign convention of accelerations in g.
enum RecordingSign: String, CaseIterable, ExpressibleByArgument {
    case lockstep
    case specificForce = "specific-force"

    static let help: ArgumentHelp = """
        Sign of accelerations in g: lockstep, if the upward axis reads -1 at rest, or specific-force, if it reads +1, \
        as on Android. Accelerations in m/s² are always specific force.
        """

    /// Reads a recording with a three-axis accelerometer, and converts it to the sign convention of Lockstep.
    /// - Parameters:
    ///   - extras: the headers of additional columns to read.
    ///   - options: how to read it.
    ///   - purpose: the analysis that requires the accelerometer, for error texts.
    /// - Throws: ``ReplayError`` for an invalid file, or ``CommandFailure`` if it has no such accelerometer.
    func open(
        _ file: String, extras: [String] = [], options: RecordingOptions, for purpose: String
    ) throws -> (recording: Recording, accelerometer: SampleBlock) {
        let metricColumns = ["ax_m_s2", "x_m_s2"]
        let recording = try Recording(
            file: file, extras: metricColumns + extras, isStrict: options.strict, format: options.format())
        guard let samples = recording.samples(of: .accelerometer), !samples.isEmpty,
            !recording.hasOnlyMagnitude
        else {
            throw CommandFailure(
                "\(file): no three-axis accelerometer; \(purpose) requires x_g,y_g,z_g or ax_m_s2,ay_m_s2,az_m_s2")
        }
        guard self == .specificForce else { return (recording, samples) }
        guard !metricColumns.contains(where: { recording.column($0) != nil }) else {
            throw CommandFailure(
                "\(file): --sign applies to accelerations in g, but these are in m/s² and always specific force")
        }
        let negated = samples.columns.map { column in column.map { -$0 } }
        return (recording, SampleBlock(stream: .accelerometer, times: samples.times, columns: negated))
    }
}
