import Glibc
import LockstepModel

/// Smooths the positions of a recording of any length, with bounded memory.
///
/// A Kalman filter (`TrackFilter`) runs forward over fixes, weighted by their accuracies, and the velocities by steps and
/// heading between them. A pass backward then corrects each estimate with all later ones: H. E. Rauch, F. Tung, C. T.
/// Striebel, "Maximum likelihood estimates of linear dynamic systems", AIAA Journal 3 (1965). A fix that is too far from
/// where the earlier ones lead is an outlier, unless several in a row form a track of their own.
///
/// The backward pass runs over pieces of a recording together with the events after them, beyond which later events hardly
/// matter.
public struct TrackSmoother: Sendable {
    /// The name and version of the method. The version changes whenever the results change.
    public static let method = "rts"
    /// See ``method``.
    public static let version = 2
    /// The time before and after a position that influences it, in µs.
    public static let margin: Int64 = 600_000_000

    /// The number of events of a piece, and of those after it.
    private static let pieceEvents = 3600
    private static let lagEvents = 1200
    /// The distance from the origin of the plane at which outliers that are believed begin a new part, in m.
    private static let maxDistance = 100_000.0
    /// The distance from the origin of the plane at which the plane is moved, in m. The scale of its east changes by less
    /// than 1 % within it, up to 50° of latitude.
    private static let maxOffset = 50_000.0
    /// The standard deviation of the velocity with which a track of outliers may begin, in m/s: as of an aircraft.
    private static let outlierSpeed = 100.0
    /// The shortest time between fixes that is a gap, in µs. Positions by steps alone are returned only in gaps.
    private static let minGap: Int64 = 3_000_000
    /// Fixes of larger accuracy, in m, and speeds above the other limit, in m/s, are ignored: they say nothing, and their
    /// squares may not be finite.
    private static let maxAccuracy = 100_000.0
    private static let maxSpeed = 1000.0
    /// 95 % of a two-dimensional normal distribution are within so many standard deviations.
    private static let confidence = 2.448

    private struct Event: Sendable {
        var time: Int64
        /// The plane of both states.
        var plane: LocalPlane
        var predicted: ([Double], Matrix6)
        var filtered: ([Double], Matrix6)
        var hasFix: Bool
        var isRejected: Bool
    }

    /// The parameters of the method.
    public let parameters: TrackSmootherParameters
    /// The number of parts so far. A part begins where there is neither fix nor step for a long time.
    public private(set) var parts = 0

    private var filter: TrackFilter?
    private var plane = LocalPlane(origin: Coordinate(latitude: 0, longitude: 0))
    private var events: [Event] = []
    /// The time of the last fix before `events`, in µs.
    private var lastFix: Int64?
    /// The time of the last fix by the receiver's own clock, in µs.
    private var lastFixTime: Int64?
    /// The track of the latest consecutive outliers, and the number and the time of the last of them.
    private var outliers: (filter: TrackFilter, count: Int, time: Int64)?

    /// Creates a smoother.
    public init(parameters: TrackSmootherParameters = TrackSmootherParameters()) { self.parameters = parameters }

    /// Adds a fix. Fixes that are not later than the previous event, that repeat the previous one, those of unknown or
    /// invalid position, and those of an accuracy of more than 100 km are ignored. An accuracy that is not positive counts
    /// as unknown, and so does a speed that is negative or above 1000 m/s.
    ///
    /// - Returns: the positions that are complete.
    public mutating func append(_ fix: LocationFix) -> [SmoothedPosition] {
        let (time, place) = (fix.time.microseconds, fix.coordinate)
        // Some receivers report latitude and longitude 0 without a fix.
        let isNullIsland = place.latitude == 0 && place.longitude == 0 && fix.horizontalAccuracy == nil
        let known = fix.horizontalAccuracy.flatMap { $0 > 0 ? $0 : nil }
        let accuracy = max(known ?? parameters.unknownAccuracy, 0.01)
        guard place.isValid, !isNullIsland, accuracy <= Self.maxAccuracy, time > events.last?.time ?? .min else {
            return []
        }
        if let own = fix.fixTime?.microseconds {
            guard own != lastFixTime else { return [] }
            lastFixTime = own
        }
        let deviation = accuracy / Self.confidence
        var results: [SmoothedPosition] = []
        if let last = events.last, time - last.time > parameters.maxGap { results = finish() }
        guard var filter else {
            begin(time, place, deviation)
            return results
        }
        movePlane(&filter)
        let predicted = predict(&filter, to: time)
        let (east, north) = plane.position(of: place)
        var isRejected = false
        if filter.distance(.position, east: east, north: north, deviation: deviation) > parameters.gate {
            let track = outliers(with: east, north, deviation, time)
            isRejected = track.count < parameters.confirmations
            outliers = isRejected ? track : nil
            if !isRejected {
                if (east * east + north * north).squareRoot() > Self.maxDistance {
                    results = finish()
                    begin(time, place, deviation)
                    return results
                }
                filter.forget(for: track.filter)
            }
        }
        // What the filter forgot belongs to the prediction, for the pass backward.
        let start = isRejected ? predicted : (filter.state, filter.covariance)
        if !isRejected {
            outliers = nil
            filter.correct(east: east, north: north, deviation: deviation)
            correct(&filter, speed: fix.speed, course: fix.course)
        }
        self.filter = filter
        return results
            + add(
                Event(
                    time: time, plane: plane, predicted: start, filtered: (filter.state, filter.covariance),
                    hasFix: true,
                    isRejected: isRejected))
    }

    /// Adds a velocity by steps. It is ignored before the first fix, if it is not later than the previous event, and above
    /// 1000 m/s.
    ///
    /// - Returns: the positions that are complete.
    public mutating func append(_ velocity: StepVelocity) -> [SmoothedPosition] {
        guard var filter, let last = events.last, velocity.time > last.time,
            velocity.speed.magnitude <= Self.maxSpeed, velocity.heading.isFinite
        else { return [] }
        if velocity.time - last.time > parameters.maxGap { return finish() }
        movePlane(&filter)
        let predicted = predict(&filter, to: velocity.time)
        filter.correct(velocity)
        self.filter = filter
        return add(
            Event(
                time: velocity.time, plane: plane, predicted: predicted, filtered: (filter.state, filter.covariance),
                hasFix: false,
                isRejected: false))
    }

    /// Ends the part.
    ///
    /// - Returns: its remaining positions.
    public mutating func finish() -> [SmoothedPosition] {
        let results = smooth(first: events.count)
        filter = nil
        events = []
        (lastFix, outliers) = (nil, nil)
        return results
    }

    private mutating func begin(_ time: Int64, _ place: Coordinate, _ deviation: Double) {
        plane = LocalPlane(origin: place)
        let filter = TrackFilter(east: 0, north: 0, deviation: deviation, parameters: parameters)
        self.filter = filter
        let estimate = (filter.state, filter.covariance)
        events = [
            Event(time: time, plane: plane, predicted: estimate, filtered: estimate, hasFix: true, isRejected: false)
        ]
        parts += 1
    }

    /// Moves the origin of the plane to the position, if that is far from it. Events before keep their plane, because the
    /// pass backward uses differences of states only.
    private mutating func movePlane(_ filter: inout TrackFilter) {
        let (east, north) = (filter.state[0], filter.state[1])
        guard (east * east + north * north).squareRoot() > Self.maxOffset else { return }
        let next = LocalPlane(origin: plane.place(east: east, north: north))
        filter.move(from: plane, to: next)
        outliers?.filter.move(from: plane, to: next)
        plane = next
    }

    private func predict(_ filter: inout TrackFilter, to time: Int64) -> ([Double], Matrix6) {
        filter.predict(Double(time - (events.last?.time ?? time)) / 1e6)
        return (filter.state, filter.covariance)
    }

    /// Returns the track of outliers with one more: a new track, if the outlier is not where the earlier ones lead.
    private func outliers(
        with east: Double, _ north: Double, _ deviation: Double, _ time: Int64
    ) -> (filter: TrackFilter, count: Int, time: Int64) {
        if var track = outliers {
            track.filter.predict(Double(time - track.time) / 1e6)
            if track.filter.distance(.position, east: east, north: north, deviation: deviation) <= parameters.gate {
                track.filter.correct(east: east, north: north, deviation: deviation)
                return (track.filter, track.count + 1, time)
            }
        }
        let filter = TrackFilter(
            east: east, north: north, deviation: deviation, maxSpeed: Self.outlierSpeed, parameters: parameters)
        return (filter, 1, time)
    }

    private func correct(_ filter: inout TrackFilter, speed: Double?, course: Double?) {
        guard let speed, (0...Self.maxSpeed).contains(speed), course?.isFinite ?? true else { return }
        var deviation = parameters.velocityDeviation
        // Without a course, a slow device is at rest.
        guard course != nil || speed < deviation else { return }
        let angle = (course ?? 0) * .pi / 180
        let known = course == nil ? 0 : speed
        let (east, north) = (known * sin(angle), known * cos(angle))
        if filter.distance(.velocity, east: east, north: north, deviation: deviation) > parameters.gate {
            // An outlier counts less the further it is: an absurd speed hardly counts, and a hard braking is followed.
            let (x, y) = (east - filter.state[2], north - filter.state[3])
            deviation = max(deviation, ((x * x + y * y) / parameters.gate).squareRoot())
        }
        filter.correct([0, 0, 1, 0, 0, 0], east, deviation: deviation)
        filter.correct([0, 0, 0, 1, 0, 0], north, deviation: deviation)
    }

    private mutating func add(_ event: Event) -> [SmoothedPosition] {
        events.append(event)
        guard events.count >= Self.pieceEvents + Self.lagEvents else { return [] }
        let results = smooth(first: Self.pieceEvents)
        lastFix = events[..<Self.pieceEvents].last { $0.hasFix }?.time ?? lastFix
        events.removeFirst(Self.pieceEvents)
        return results
    }

    /// Runs backward over all events and returns the positions of the first ones.
    private func smooth(first count: Int) -> [SmoothedPosition] {
        guard var (state, covariance) = events.last?.filtered else { return [] }
        var estimates: [([Double], Matrix6)] = []
        for index in events.indices.reversed() {
            if index < events.count - 1 {
                let (event, next) = (events[index], events[index + 1])
                let transition = TrackFilter.transition(Double(next.time - event.time) / 1e6)
                let gain = next.predicted.1.solve(transition * event.filtered.1).transposed
                state = zip(event.filtered.0, gain * zip(state, next.predicted.0).map { $0 - $1 }).map { $0 + $1 }
                covariance = event.filtered.1 + gain * (covariance - next.predicted.1) * gain.transposed
            }
            if index < count { estimates.append((state, covariance)) }
        }
        return positions(estimates.reversed())
    }

    private func positions(_ estimates: [([Double], Matrix6)]) -> [SmoothedPosition] {
        var before = lastFix
        var results: [SmoothedPosition] = []
        var following = 0
        for (index, (state, covariance)) in estimates.enumerated() {
            let event = events[index]
            if event.hasFix { before = event.time }
            while following < events.count, following <= index || !events[following].hasFix { following += 1 }
            // Without a later fix, the gap is as long as there are steps.
            let after = events[min(following, events.count - 1)].time
            guard event.hasFix || after - (before ?? event.time) >= Self.minGap else { continue }
            results.append(position(event, state, covariance))
        }
        return results
    }

    private func position(_ event: Event, _ state: [Double], _ covariance: Matrix6) -> SmoothedPosition {
        let speed = (state[2] * state[2] + state[3] * state[3]).squareRoot()
        let speedVariance = (covariance[2, 2] + covariance[3, 3]) / 2
        let course = atan2(state[2], state[3]) * 180 / .pi
        return SmoothedPosition(
            time: event.time, coordinate: event.plane.place(east: state[0], north: state[1]),
            accuracy: Self.confidence * max(0, (covariance[0, 0] + covariance[1, 1]) / 2).squareRoot(), speed: speed,
            course: speed > max(0.2, 2 * max(0, speedVariance).squareRoot())
                ? (course < 0 ? course + 360 : course) : nil,
            hasFix: event.hasFix, isRejected: event.isRejected)
    }
}
