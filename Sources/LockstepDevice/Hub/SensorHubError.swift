public import LockstepModel
public import LockstepSensors

/// A failed subscription to a ``SensorHub``.
public enum SensorHubError: Error, Sendable, Hashable {
    /// No source provides this stream, and it cannot be derived from others. The existing sensors carry their problems.
    case notAvailable(SensorStream, [SensorDescription])
}

extension SensorHubError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notAvailable(let stream, let sensors):
            let problems = sensors.compactMap { sensor in sensor.problem.map { "\(sensor.name): \($0)" } }
            let reason = problems.isEmpty ? "no source provides it" : problems.joined(separator: "; ")
            return "\(stream) is not available: \(reason)"
        }
    }
}
