import Glibc

/// Estimates attitudes from a whole recording: each one from the samples before and after it.
///
/// The method follows the offline variant of Laidig & Seel, "VQF: Highly accurate IMU orientation estimation with bias
/// estimation and magnetic disturbance rejection", Information Fusion 91 (2023), with another heading filter. ``VQF``
/// runs forward and backward over the recording; both estimates of the gyroscope's bias are merged by their covariances.
/// The acceleration is low-pass filtered forward and backward, so that the filter has no delay. The heading is a
/// weighted mean over the time before and after, see ``HeadingSmoother``.
public struct AttitudeSmoother: Sendable {
    /// The name and version of the method. The version changes whenever the results change.
    public static let method = "vqf-two-sided"
    /// See ``method``.
    public static let version = 1

    /// The parameters of the method.
    public let parameters: AttitudeSmootherParameters

    /// Creates a smoother.
    public init(parameters: AttitudeSmootherParameters = AttitudeSmootherParameters()) { self.parameters = parameters }

    /// Returns the attitude at each sample of a recording without gaps.
    ///
    /// - Parameter samples: in order of time, with different times. The filters are designed for the mean interval.
    ///   If any sample has a magnetic field, the frame is east, magnetic north, up; otherwise the heading is arbitrary.
    public func attitudes(at samples: [MotionSample]) -> [RefinedAttitude] {
        guard samples.count > 1 else { return [] }
        let duration = Double(samples[samples.count - 1].time - samples[0].time) / 1e6
        let interval = max(duration / Double(samples.count - 1), 1e-6)
        let rates = advancedRates(samples)
        var results = biases(samples, rates, interval)
        integrate(rates, samples, interval, into: &results)
        level(samples, interval, &results)
        if samples.contains(where: { $0.magneticField != nil }) {
            let smoother = HeadingSmoother(
                time: parameters.headingTime, disturbedWeight: parameters.disturbedFieldWeight)
            smoother.correct(&results, samples)
        }
        return results
    }

    /// Returns the rotation rates without the delay of the gyroscope.
    private func advancedRates(_ samples: [MotionSample]) -> [SIMD3<Double>] {
        let part = parameters.gyroscopeDelay
        return samples.indices.map { index in
            let next = samples[min(index + 1, samples.count - 1)].rotationRate
            return samples[index].rotationRate * (1 - part) + next * part
        }
    }

    /// Returns bias, rest and disturbance at each sample, merged from a forward and a backward pass.
    private func biases(
        _ samples: [MotionSample], _ rates: [SIMD3<Double>], _ interval: Double
    ) -> [RefinedAttitude] {
        var forward = VQF(interval: interval, parameters: parameters.vqf)
        var results: [RefinedAttitude] = []
        results.reserveCapacity(samples.count)
        var information: [SymmetricMatrix] = []
        information.reserveCapacity(samples.count)
        for index in samples.indices {
            let elapsed = index == 0 ? interval : Double(samples[index].time - samples[index - 1].time) / 1e6
            forward.update(samples[index], rate: rates[index], elapsed: elapsed)
            results.append(
                RefinedAttitude(
                    time: samples[index].time, gyroscopeBias: forward.gyroscopeBias, isAtRest: forward.isAtRest,
                    isMagneticFieldDisturbed: forward.isMagneticFieldDisturbed))
            information.append(forward.biasInformation)
        }
        var backward = VQF(interval: interval, parameters: parameters.vqf)
        for index in samples.indices.reversed() {
            let isLast = index == samples.count - 1
            let elapsed = isLast ? interval : Double(samples[index + 1].time - samples[index].time) / 1e6
            // In reversed time, all rotations and with them the bias change their sign.
            backward.update(samples[index], rate: -rates[index], elapsed: elapsed)
            let other = backward.biasInformation
            let covariance = (information[index] + other).inverse
            let sum = information[index] * results[index].gyroscopeBias - other * backward.gyroscopeBias
            results[index].gyroscopeBias = covariance * sum
            results[index].gyroscopeBiasSigma =
                min(
                    covariance.rowSumNorm.squareRoot() / 100, parameters.vqf.initialBiasSigma) * .pi / 180
            results[index].isAtRest = results[index].isAtRest || backward.isAtRest
            results[index].isMagneticFieldDisturbed =
                results[index].isMagneticFieldDisturbed && backward.isMagneticFieldDisturbed
        }
        return results
    }

    /// Integrates the rotation rates without bias.
    private func integrate(
        _ rates: [SIMD3<Double>], _ samples: [MotionSample], _ interval: Double, into results: inout [RefinedAttitude]
    ) {
        var attitude = Quaternion(scalar: 1, vector: SIMD3(0, 0, 0))
        for index in results.indices {
            let elapsed = index == 0 ? interval : Double(samples[index].time - samples[index - 1].time) / 1e6
            let turn = VQF.rotation((rates[index] - results[index].gyroscopeBias) * elapsed)
            attitude = (attitude * turn).normalized
            results[index].attitude = attitude
        }
    }

    /// Corrects the inclination of the integrated attitudes with the low-pass filtered acceleration.
    private func level(_ samples: [MotionSample], _ interval: Double, _ results: inout [RefinedAttitude]) {
        let time = parameters.vqf.accelerometerTime
        let filter = LowPassCoefficients(time: time, interval: interval)
        var forward = LowPass<SIMD3<Double>>()
        var smooth = samples.indices.map { index in
            forward.update(
                results[index].attitude.rotate(samples[index].force), filter, settling: time, interval: interval)
        }
        var backward = LowPass(steady: smooth[smooth.count - 1], filter)
        for index in smooth.indices.reversed() {
            smooth[index] = backward.update(smooth[index], filter, settling: time, interval: interval)
        }
        var correction = Quaternion(scalar: 1, vector: SIMD3(0, 0, 0))
        for index in results.indices {
            let turned = correction.rotate(smooth[index])
            let strength = length(turned)
            if strength > 0 {
                correction = (VQF.rotationToVertical(turned / strength) * correction).normalized
            }
            results[index].attitude = correction * results[index].attitude
        }
    }
}

extension VQF {
    fileprivate mutating func update(_ sample: MotionSample, rate: SIMD3<Double>, elapsed: Double) {
        update(gyroscope: rate, elapsed: elapsed)
        update(accelerometer: sample.force, elapsed: elapsed)
        if let field = sample.magneticField { update(magnetometer: field, elapsed: elapsed) }
    }
}
