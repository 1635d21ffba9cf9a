package import LockstepModel

/// A period in which the sensors of a device run with one configuration.
protocol IIOSession {
    /// Waits until samples are available, `waker` is woken or `limit` has passed, and returns the samples.
    /// - Parameter limit: A time in µs of the boot clock.
    /// - Returns: Samples with times of the boot clock, possibly none.
    /// - Throws: ``IIOError`` if the sensor is gone.
    mutating func next(_ waker: Wakeup, until limit: Int64) throws(IIOError) -> [SampleBlock]

    /// The statuses of the sensors that have delivered a reading.
    var statuses: [SensorStream: SourceStatus] { get }

    /// The sensors that have delivered a reading other than zero. The next session receives them.
    var proven: Set<SensorStream> { get }

    /// Checks that the device still exists.
    /// - Throws: ``IIOError`` if it is gone.
    func checkPresence() throws(IIOError)

    /// Returns the samples that are available without waiting, which ``stop()`` would discard.
    mutating func takeRemainder() -> [SampleBlock]

    /// Disables whatever the session enabled. Must always be called at the end of a session.
    mutating func stop()
}

extension IIOSession {
    mutating func takeRemainder() -> [SampleBlock] { [] }

    var proven: Set<SensorStream> { [] }
}

/// The sensors that a session can read with the current access rights, as a value.
struct IIOSessionPlan {
    let device: IIODevice
    /// The requested sensors that can be read.
    let sensors: [IIOSensor]
    /// The requested sensors that cannot be read.
    let unusable: [IIOSensor]

    /// - Throws: ``IIOError`` if none of the requested sensors can be read.
    init(device: IIODevice, requested: Set<SensorStream>) throws(IIOError) {
        self.device = device
        let all = device.sensors.filter { requested.contains($0.quantity.stream) }
        sensors = all.filter { $0.problem == nil }
        unusable = all.filter { $0.problem != nil }
        if sensors.isEmpty, let problem = unusable.first?.problem { throw IIOError(problem) }
    }

    /// The streams of the sensors that can be read.
    var streams: Set<SensorStream> { Set(sensors.map(\.quantity.stream)) }

    /// The buffer to use, its candidate triggers and its sensors; nil if the sensors are polled.
    var buffered: (buffer: IIOBuffer, triggers: [String], sensors: [IIOSensor])? {
        guard case .buffered(let buffer, let triggers)? = sensors.first?.access else { return nil }
        return (buffer, triggers, sensors.filter { $0.access.buffer == buffer })
    }

    /// Whether a sensor cannot be read or cannot use its buffer, which may change while the device is connected.
    var isIncomplete: Bool { !unusable.isEmpty || sensors.contains { $0.access.blockedBuffer != nil } }
}

/// The time of the last sample delivered for each stream, across all sessions of a device.
///
/// A buffer that has just been enabled may hold scans from before the last polled reading. Delivering them would repeat
/// a measurement.
package struct DeliveredTimes: Sendable {
    private var last: [SensorStream: Int64] = [:]

    package init() {}

    /// Returns the samples of `block` that are later than all previous ones of its stream; nil if there are none.
    /// - Parameter block: Samples in time order.
    package mutating func advance(over block: SampleBlock) -> SampleBlock? {
        let isLater = { [last = last[block.stream] ?? .min] (time: Int64) in time > last }
        guard let first = block.times.firstIndex(where: isLater) else { return nil }
        last[block.stream] = block.times.last
        return first == 0 ? block : block[first..<block.count]
    }
}

extension RateControl {
    /// The rate in samples/s if neither the device nor the quantity determines one.
    static let defaultRate = 100.0

    /// Sets the lowest supported rate at or above `requested` samples/s.
    ///
    /// If the rate cannot be set, the current one remains: samples at a lower rate are better than none.
    /// - Returns: The rate in effect, nil if unknown; and the limitation to report, if any.
    func set(_ requested: Double) -> (rate: Double?, note: String?) {
        let choice =
            available?.choose(requested) ?? .init(rate: requested, text: SamplingRates.text(of: requested))
        var refusal: IIOError?
        if current != choice.rate {
            do throws(IIOError) { try folder.write(file, choice.text) } catch { refusal = error }
        }
        let rate = current
        guard let refusal, let rate, rate < choice.rate else { return (rate, nil) }
        return (rate, "the rate stays \(SamplingRates.text(of: rate)) Hz: \(refusal)")
    }

    /// Returns the native rate: the lowest supported rate at or above `standard` samples/s, or the current rate if the
    /// supported rates are unknown.
    func native(default standard: Double) -> Double? { available?.choose(standard)?.rate ?? current }

    /// Returns the rate to set for `requested` samples/s. An infinite value requests the native rate.
    func resolved(_ requested: Double, default standard: Double) -> Double {
        requested.isFinite ? requested : native(default: standard) ?? standard
    }
}

extension [IIOSensor] {
    /// Returns the fastest requested rate of the sensors that share a control.
    /// - Parameter rate: Returns the requested rate of a sensor in samples/s, or nil.
    func fastest(setBy control: RateControl, _ rate: (IIOSensor) -> Double?) -> Double? {
        filter { $0.rate?.file == control.file && $0.rate?.folder == control.folder }.compactMap(rate).max()
    }
}
