import LockstepModel
public import LockstepMotion
import LockstepSensors

extension MotionManager {
    /// Returns the shakes of the device from now on, found in its accelerometer.
    public func shakes() -> SensorUpdates<Shake> {
        detections(by: { ShakeDetector() }) { $0.update(time: $1, x: $2.x, y: $2.y, z: $2.z) }
    }

    /// Returns the falls of the person who wears the device from now on, each 2 to 6 s after its impact, found in the
    /// accelerometer.
    public func falls() -> SensorUpdates<Fall> {
        detections(by: { FallDetector() }) { $0.update(time: $1, x: $2.x, y: $2.y, z: $2.z) }
    }

    /// Returns the orientation of the device: the first one, and then each change.
    public func orientations() -> SensorUpdates<DeviceOrientation> {
        let hub = hub
        return SensorUpdates {
            hub.updates(for: [.orientation: .everything])
        } makeTransform: {
            { update in
                guard case .samples(let samples) = update else { return [] }
                return samples.columns[0].compactMap { DeviceOrientation(streamValue: $0) }
            }
        }
    }

    /// Returns what a detector finds in the accelerometer. It starts anew when the clock steps.
    private func detections<Detector: Sendable, Found: Sendable>(
        by make: @escaping @Sendable () -> Detector,
        _ detect: @escaping @Sendable (inout Detector, Int64, SIMD3<Double>) -> Found?
    ) -> SensorUpdates<Found> {
        let hub = hub
        return SensorUpdates {
            hub.updates(for: [.accelerometer: SensorRequest(rate: 50)])
        } makeTransform: {
            var detector = make()
            return { update in
                switch update {
                case .samples(let samples):
                    let columns = samples.columns
                    return samples.times.indices.compactMap { index in
                        let axes = SIMD3(columns[0][index], columns[1][index], columns[2][index])
                        return detect(&detector, samples.times[index], axes)
                    }
                case .clockStepped:
                    detector = make()
                    return []
                case .status: return []
                }
            }
        }
    }
}
