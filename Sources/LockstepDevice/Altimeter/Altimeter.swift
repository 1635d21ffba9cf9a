public import LockstepModel
import LockstepSensors

/// The relative altitude of this device and the air pressure, as a sequence or polled as the latest value.
///
/// Altitudes are relative to the first value after the start. They are computed from air pressure with the
/// international barometric formula, so changes of the weather affect them too: 1 hPa corresponds to about 8 m.
public final class Altimeter: Sendable {
    private let hub: SensorHub
    private let latest = LatestValue<AltitudeData>()

    /// Creates an altimeter without subscriptions.
    public init(hub: SensorHub) { self.hub = hub }

    /// Whether a source provides air pressure, or the altitude itself.
    public var isRelativeAltitudeAvailable: Bool { hub.streams.contains(.altitude) }

    /// The latest value since the start; nil before the first.
    public var altitudeData: AltitudeData? { latest.value }
    /// The error that ended the updates of ``altitudeData``; nil after a stop.
    public var error: (any Error)? { latest.error }
    /// Whether ``altitudeData`` is being updated.
    public var isActive: Bool { latest.isActive }
    /// Starts updating ``altitudeData``. The first altitude is 0.
    public func startRelativeAltitudeUpdates() { latest.start(relativeAltitudeUpdates()) }
    /// Stops the updates and keeps the latest value.
    public func stopRelativeAltitudeUpdates() { latest.stop() }

    /// Returns altitude and pressure about once a second. The first altitude of each loop is 0.
    public func relativeAltitudeUpdates() -> SensorUpdates<AltitudeData> {
        let hub = hub
        let hasPressure = hub.streams.contains(.pressure)
        return SensorUpdates {
            var requests: [SensorStream: SensorRequest] = [.altitude: .everything]
            if hasPressure { requests[.pressure] = .everything }
            return hub.updates(for: requests)
        } makeTransform: {
            var converter = AltitudeConverter()
            return { update in
                guard case .samples(let samples) = update else { return [] }
                return converter.update(samples)
            }
        }
    }
}

/// A value of an ``Altimeter``.
public struct AltitudeData: Sendable, Hashable {
    /// The time of the measurement.
    public let timestamp: Timestamp
    /// The altitude relative to the first value of the updates, in m.
    public let relativeAltitude: Double
    /// The air pressure in hPa; nil if only the altitude is provided.
    public let pressure: Double?
}

/// Converts samples of pressure and altitude to the values of one sequence.
struct AltitudeConverter {
    /// The latest pressure, which arrives before the altitude derived from it.
    private var pressure: Double?
    /// The altitude of the first sample, in m: another subscriber may have started earlier.
    private var start: Double?

    mutating func update(_ samples: SampleBlock) -> [AltitudeData] {
        guard samples.stream == .altitude else {
            pressure = samples.columns[0].last ?? pressure
            return []
        }
        return zip(samples.times, samples.columns[0]).map { time, altitude in
            let start = start ?? altitude
            self.start = start
            return AltitudeData(
                timestamp: Timestamp(microseconds: time), relativeAltitude: altitude - start, pressure: pressure)
        }
    }
}
