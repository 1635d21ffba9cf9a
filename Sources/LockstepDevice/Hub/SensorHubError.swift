public import LockstepModel
public import LockstepSensors

/// The error of a subscription to a ``SensorHub``.
public enum SensorHubError: Error, Sendable, Hashable {
    /// No source provides this stream, and it cannot be derived from other streams. The descriptions of all sensors
    /// state their problems.
    case notAvailable(SensorStream, [SensorDescription])
}

extension SensorHubError: CustomStringConvertible {
    /// The stream and the reasons why it is not available.
    public var description: String {
        switch self {
        case .notAvailable(let stream, let sensors):
            let problems = sensors.compactMap { sensor in sensor.problem.map { "\(sensor.name): \($0)" } }
            let reason = problems.isEmpty ? "no source provides it" : problems.joined(separator: "; ")
            return "\(stream) is not available: \(reason)"
        }
    }
}
