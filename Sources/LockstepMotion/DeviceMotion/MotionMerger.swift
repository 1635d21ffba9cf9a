import LockstepModel

/// Merges samples of accelerometer, gyroscope and magnetometer, which arrive in blocks of one sensor each, in order of
/// time.
///
/// A merged sample is emitted when every sensor has delivered samples up to its time or counts as missing. A sensor
/// counts as missing after two seconds without samples, the accelerometer after ten seconds.
struct MotionMerger: Sendable {
    /// The samples of all sensors at one time.
    struct MergedSample: Sendable {
        var time: Int64
        var accelerometer: SIMD3<Double>?
        var gyroscope: SIMD3<Double>?
        var magnetometer: SIMD3<Double>?
    }

    /// How long the merger waits for a sensor, in µs: longer than a block of any source.
    private static let maxWait: Int64 = 2_000_000
    /// How long the merger waits for the accelerometer, in µs: longer, because without it there is no output.
    private static let maxAccelerometerWait: Int64 = 10_000_000

    private struct Queue: Sendable {
        private static let compaction = 256

        var samples: [(time: Int64, value: SIMD3<Double>)] = []
        var head = 0
        var newest: Int64?

        var first: Int64? { head < samples.count ? samples[head].time : nil }

        mutating func take(at time: Int64) -> SIMD3<Double>? {
            guard first == time else { return nil }
            let value = samples[head].value
            head += 1
            if head == samples.count {
                samples.removeAll(keepingCapacity: true)
                head = 0
            } else if head > Self.compaction, head > samples.count / 2 {
                // The queue may never become empty, if another sensor always lags a little.
                samples.removeFirst(head)
                head = 0
            }
            return value
        }
    }

    /// The sensors that are present. The merger does not wait for other sensors.
    private let sensors: Set<SensorStream>
    private var accelerometer = Queue()
    private var gyroscope = Queue()
    private var magnetometer = Queue()
    /// The time of the first sample after the last gap, in µs. The waiting times are measured from here.
    private var startTime: Int64?
    private var newest: Int64 = .min
    /// The time of the last merged sample emitted. Earlier samples are ignored.
    private var lastOutputTime: Int64 = .min

    init(sensors: Set<SensorStream>) { self.sensors = sensors }

    /// Adds samples. Samples that are not later than the sensor's previous one, or earlier than the last merged sample
    /// emitted, are ignored.
    mutating func append(_ samples: SampleBlock) {
        switch samples.stream {
        case .accelerometer: append(samples, to: \.accelerometer)
        case .gyroscope: append(samples, to: \.gyroscope)
        case .magnetometer: append(samples, to: \.magnetometer)
        default: preconditionFailure("\(samples.stream) is not a motion sensor")
        }
    }

    /// Returns the next merged sample, or nil while a sensor may still deliver an earlier sample.
    mutating func next() -> MergedSample? {
        guard let time = earliest, isReady(accelerometer, .accelerometer, to: time),
            isReady(gyroscope, .gyroscope, to: time), isReady(magnetometer, .magnetometer, to: time)
        else { return nil }
        return take(at: time)
    }

    /// Returns the next merged sample without waiting for any sensor, or nil if there is none.
    mutating func nextWithoutWaiting() -> MergedSample? { earliest.map { take(at: $0) } }

    /// The number of samples in memory, including emitted ones.
    var bufferedSamples: Int { accelerometer.samples.count + gyroscope.samples.count + magnetometer.samples.count }

    private var earliest: Int64? {
        var earliest: Int64?
        for first in [accelerometer.first, gyroscope.first, magnetometer.first] {
            if let first, first < earliest ?? .max { earliest = first }
        }
        return earliest
    }

    private func isReady(_ queue: Queue, _ sensor: SensorStream, to time: Int64) -> Bool {
        if queue.first != nil || !sensors.contains(sensor) { return true }
        if let last = queue.newest, last >= time { return true }
        // The sensor has no newer sample: wait for it, unless it has been silent for too long.
        let maxWait = sensor == .accelerometer ? Self.maxAccelerometerWait : Self.maxWait
        return newest - max(queue.newest ?? .min, startTime ?? newest) > maxWait
    }

    private mutating func take(at time: Int64) -> MergedSample {
        lastOutputTime = time
        return MergedSample(
            time: time, accelerometer: accelerometer.take(at: time), gyroscope: gyroscope.take(at: time),
            magnetometer: magnetometer.take(at: time))
    }

    private mutating func append(_ samples: SampleBlock, to path: WritableKeyPath<MotionMerger, Queue>) {
        let (x, y, z) = (samples.columns[0], samples.columns[1], samples.columns[2])
        for (index, time) in samples.times.enumerated() {
            let value = SIMD3(x[index], y[index], z[index])
            guard time > self[keyPath: path].newest ?? .min, time >= lastOutputTime, value.x.isFinite, value.y.isFinite,
                value.z.isFinite
            else { continue }
            self[keyPath: path].samples.append((time, value))
            self[keyPath: path].newest = time
            if startTime == nil || time - newest > DeviceMotionEstimator.maxGap { startTime = time }
            newest = max(newest, time)
        }
    }
}
