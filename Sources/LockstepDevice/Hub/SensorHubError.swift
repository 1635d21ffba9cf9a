public import LockstepModel
public import LockstepSensors

/// Why samples can't be had.
public enum SensorHubError: Error, Sendable, Hashable {
    /// No source gives this stream, and it can't be worked out of what they give; the sensors that there are, with the
    /// problems they have.
    case notAvailable(SensorStream, [SensorDescription])
}

extension SensorHubError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notAvailable(let stream, let sensors):
            let problems = sensors.compactMap { sensor in sensor.problem.map { "\(sensor.name): \($0)" } }
            let reason = problems.isEmpty ? "no source gives it" : problems.joined(separator: "; ")
            return "\(stream) is not available: \(reason)"
        }
    }
}
