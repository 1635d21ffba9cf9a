import LockstepModel

/// The streams and rates of the simulator's sensors.
enum SimulatedSensor {
    /// The simulated streams.
    static let streams: [SensorStream] = [.accelerometer, .gyroscope, .magnetometer, .location, .pressure, .battery]

    /// Returns the supported rates of a stream, in samples/s; nil if it is not simulated.
    static func rates(of stream: SensorStream) -> ClosedRange<Double>? {
        switch stream {
        case .accelerometer, .gyroscope, .magnetometer: 0.001...10_000
        case .pressure: 0.001...100
        case .location, .battery: 1...1
        default: nil
        }
    }

    /// Returns the rate of a stream when none is requested, in samples/s; nil if it is not simulated.
    /// - Parameter motionRate: The native rate of accelerometer, gyroscope and magnetometer.
    static func nativeRate(of stream: SensorStream, motionRate: Double) -> Double? {
        rates(of: stream).map { $0.upperBound == 10_000 ? motionRate : 1 }
    }
}
