public import LockstepModel
import LockstepSensors

extension LocationManager {
    /// Whether headings are available: from a source, or from an accelerometer and a magnetometer.
    public var isHeadingAvailable: Bool { hub.streams.contains(.heading) }

    /// The latest heading since the start; nil before the first.
    public var heading: Heading? { latestHeading.value }
    /// The error that ended the updates of ``heading``; nil after a stop.
    public var headingError: (any Error)? { latestHeading.error }
    /// Whether ``heading`` is being updated.
    public var isUpdatingHeading: Bool { latestHeading.isActive }
    /// Starts updating ``heading``.
    public func startUpdatingHeading() { latestHeading.start(headingUpdates()) }
    /// Stops the updates and keeps the latest heading.
    public func stopUpdatingHeading() { latestHeading.stop() }

    /// Returns the heading each time it has changed by ``headingFilter`` degrees, at most 10 times a second.
    public func headingUpdates() -> SensorUpdates<Heading> {
        let (hub, headingFilter) = (hub, headingFilter)
        return SensorUpdates {
            hub.updates(for: [.heading: SensorRequest(rate: 10)])
        } makeTransform: {
            var last: Heading?
            return { update in
                guard case .samples(let samples) = update else { return [] }
                var headings: [Heading] = []
                for heading in Heading.all(in: samples) {
                    if let last, heading.difference(from: last) < headingFilter { continue }
                    last = heading
                    headings.append(heading)
                }
                return headings
            }
        }
    }
}

/// The direction in which the top edge of the device points, or its back while it is held upright. Angles are in
/// degrees clockwise, 0 up to 360.
public struct Heading: Sendable, Hashable {
    /// The time of the measurement.
    public let timestamp: Timestamp
    /// The angle from magnetic north.
    public let magneticHeading: Double
    /// The angle from true north; nil if the magnetic declination is unknown.
    public let trueHeading: Double?
    /// The largest expected error in degrees; nil while the magnetometer is not calibrated. Rotating the device about
    /// all axes calibrates it.
    public let headingAccuracy: Double?

    /// Returns the headings in samples of the `heading` stream.
    static func all(in samples: SampleBlock) -> [Heading] {
        samples.times.indices.map { index in
            let values = samples.values(at: index)
            return Heading(
                timestamp: Timestamp(microseconds: samples.times[index]), magneticHeading: values[0],
                trueHeading: values[1].isFinite ? values[1] : nil,
                headingAccuracy: values[2].isFinite ? values[2] : nil)
        }
    }

    /// Returns the absolute difference of the magnetic headings in degrees, 0 to 180.
    func difference(from other: Heading) -> Double {
        abs((magneticHeading - other.magneticHeading + 540).truncatingRemainder(dividingBy: 360) - 180)
    }
}
