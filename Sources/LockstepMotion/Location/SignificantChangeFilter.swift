public import LockstepModel

/// Passes a fix only if the device has moved far, for background operation, in which occasional positions suffice.
///
/// A move must be at least ``distance`` and more than the sum of the accuracies of both fixes, so that a device indoors
/// does not appear to move.
public struct SignificantChangeFilter: Sendable, Hashable {
    /// The smallest move, in m.
    public let distance: Double
    /// The last fix that passed.
    public private(set) var last: LocationFix?
    /// Whether the previous row had a position; nil before the first row.
    private var hadPosition: Bool?

    /// Creates a filter.
    ///
    /// - Parameter distance: the smallest move, in m.
    public init(distance: Double = 500) { self.distance = distance }

    /// Processes a fix and returns whether it passes. The first fix passes.
    public mutating func update(_ fix: LocationFix) -> Bool {
        if let last {
            let moved = last.coordinate.distance(to: fix.coordinate)
            let uncertain = (last.horizontalAccuracy ?? 0) + (fix.horizontalAccuracy ?? 0)
            guard moved >= distance, moved > uncertain else { return false }
        }
        last = fix
        return true
    }

    /// Processes samples of the `location` stream.
    ///
    /// - Returns: the samples that pass. A row without position passes if the previous row had one.
    /// - Precondition: `locations` belongs to the location stream.
    public mutating func update(_ locations: SampleBlock) -> SampleBlock {
        precondition(locations.stream == .location, "significant changes are detected in location samples")
        var passed = SampleBlock(stream: .location)
        for index in locations.times.indices {
            let time = Timestamp(microseconds: locations.times[index])
            let values = locations.values(at: index)
            let fix = LocationFix(time: time, values: values)
            let passes = fix.map { update($0) } ?? (hadPosition != false)
            hadPosition = fix != nil
            if passes { passed.append(time: time, values: values) }
        }
        return passed
    }
}
