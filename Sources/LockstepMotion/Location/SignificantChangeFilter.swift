public import LockstepModel

/// Lets a fix pass when the device has moved a long way: for the background, where a position now and then will do.
///
/// A move counts when it is at least ``distance``, and more than the accuracies of both fixes together: a device that
/// lies indoors does not seem to walk.
public struct SignificantChangeFilter: Sendable, Hashable {
    /// m.
    public let distance: Double
    /// The last fix that passed.
    public private(set) var last: LocationFix?
    private var hadPosition: Bool?

    /// - Parameter distance: m.
    public init(distance: Double = 500) { self.distance = distance }

    /// Takes a fix; true if it passes. The first does.
    public mutating func update(_ fix: LocationFix) -> Bool {
        if let last {
            let moved = last.coordinate.distance(to: fix.coordinate)
            let uncertain = (last.horizontalAccuracy ?? 0) + (fix.horizontalAccuracy ?? 0)
            guard moved >= distance, moved > uncertain else { return false }
        }
        last = fix
        return true
    }

    /// Takes samples of the `location` stream.
    /// - Returns: those that pass; a row without position passes where the one before had one.
    /// - Precondition: `locations` is of the location stream.
    public mutating func update(_ locations: SampleBlock) -> SampleBlock {
        precondition(locations.stream == .location, "significant changes are of locations")
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
