import LockstepModel

/// Puts samples of accelerometer, gyroscope and magnetometer, which come in blocks of one sensor each, into one order
/// of time.
///
/// A moment is given when every sensor has come that far, or is missing: one that has given nothing for
/// two seconds is not waited for (the accelerometer: ten).
struct MotionMerger: Sendable {
    /// What the sensors said at one time.
    struct Moment: Sendable {
        var time: Int64
        var accelerometer: SIMD3<Double>?
        var gyroscope: SIMD3<Double>?
        var magnetometer: SIMD3<Double>?
    }

    /// µs: longer than what sources hand over at once.
    private static let patience: Int64 = 2_000_000
    /// µs for the accelerometer, without which there is nothing to tell.
    private static let longestPatience: Int64 = 10_000_000

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
                // Where another sensor is always a little behind, a queue is never empty.
                samples.removeFirst(head)
                head = 0
            }
            return value
        }
    }

    /// The sensors that there are: nothing is waited for of others.
    private let sensors: Set<SensorStream>
    private var accelerometer = Queue()
    private var gyroscope = Queue()
    private var magnetometer = Queue()
    /// Since when samples come, without a gap: at its end all sensors are waited for.
    private var begin: Int64?
    private var newest: Int64 = .min
    /// Nothing before it is taken any more.
    private var given: Int64 = .min

    init(sensors: Set<SensorStream>) { self.sensors = sensors }

    /// Takes samples; those that are not later than the one before of their sensor, or too late for what has been
    /// given, are passed over.
    mutating func append(_ samples: SampleBlock) {
        switch samples.stream {
        case .accelerometer: append(samples, to: \.accelerometer)
        case .gyroscope: append(samples, to: \.gyroscope)
        case .magnetometer: append(samples, to: \.magnetometer)
        default: preconditionFailure("\(samples.stream) is none of the sensors that tell motion")
        }
    }

    /// The earliest moment that has not been given; nil while a sensor may still have to say something before it.
    mutating func next() -> Moment? {
        guard let time = earliest, hasCome(accelerometer, .accelerometer, to: time),
            hasCome(gyroscope, .gyroscope, to: time), hasCome(magnetometer, .magnetometer, to: time)
        else { return nil }
        return take(at: time)
    }

    /// The earliest moment that has not been given, without waiting; nil when there is no more.
    mutating func nextWithoutWaiting() -> Moment? { earliest.map { take(at: $0) } }

    /// How many samples are in memory, given ones among them.
    var heldSamples: Int { accelerometer.samples.count + gyroscope.samples.count + magnetometer.samples.count }

    private var earliest: Int64? {
        var earliest: Int64?
        for first in [accelerometer.first, gyroscope.first, magnetometer.first] {
            if let first, first < earliest ?? .max { earliest = first }
        }
        return earliest
    }

    private func hasCome(_ queue: Queue, _ sensor: SensorStream, to time: Int64) -> Bool {
        if queue.first != nil || !sensors.contains(sensor) { return true }
        if let last = queue.newest, last >= time { return true }
        // Unheard of, or silent: is it being waited for?
        let patience = sensor == .accelerometer ? Self.longestPatience : Self.patience
        return newest - max(queue.newest ?? .min, begin ?? newest) > patience
    }

    private mutating func take(at time: Int64) -> Moment {
        given = time
        return Moment(
            time: time, accelerometer: accelerometer.take(at: time), gyroscope: gyroscope.take(at: time),
            magnetometer: magnetometer.take(at: time))
    }

    private mutating func append(_ samples: SampleBlock, to path: WritableKeyPath<MotionMerger, Queue>) {
        let (x, y, z) = (samples.columns[0], samples.columns[1], samples.columns[2])
        for (index, time) in samples.times.enumerated() {
            let value = SIMD3(x[index], y[index], z[index])
            guard time > self[keyPath: path].newest ?? .min, time >= given, value.x.isFinite, value.y.isFinite,
                value.z.isFinite
            else { continue }
            self[keyPath: path].samples.append((time, value))
            self[keyPath: path].newest = time
            if begin == nil || time - newest > DeviceMotionEstimator.longestGap { begin = time }
            newest = max(newest, time)
        }
    }
}
