public import LockstepModel

/// The magnetic declination at the device's place: a given value, or the value of a model at the newest location.
///
/// Implausible fixes are ignored (``LocationFilter``). The model is evaluated again after a move of 1 km or after
/// a day. Without further fixes the last declination remains in use.
public struct DeclinationSource: Sendable {
    /// The origin of the declination, or the reason why there is none.
    public enum Status: Sendable, Hashable {
        /// The declination was given.
        case given
        /// The declination is that of a model at the newest location. If the date is outside of the model's validity,
        /// it is that of the nearest valid date.
        case model(name: String, isDateValid: Bool)
        /// There is no location yet.
        case noLocation
        /// The horizontal field at the newest location is too weak for a compass: it is near a magnetic pole.
        case unreliableCompass
    }

    /// The distance in m after which the model is evaluated again: the declination changes by less than 0.1°.
    private static let maxDistance = 1000.0
    /// The time after which the model is evaluated again, in µs.
    private static let maxAge: Int64 = 86_400_000_000

    /// The angle from true to magnetic north in rad, east positive; nil if it is unknown.
    public private(set) var declination: Double?
    /// The origin of the declination, or the reason why there is none.
    public private(set) var status: Status

    private let model: WorldMagneticModel
    private var filter = LocationFilter()
    private var evaluated: LocationFix?

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - given: the declination in rad, if it is known. Locations are then ignored.
    ///   - model: the model for locations.
    public init(given: Double? = nil, model: WorldMagneticModel = .wmm2025) {
        declination = given
        status = given == nil ? .noLocation : .given
        self.model = model
    }

    /// Whether the declination depends on locations.
    public var needsLocation: Bool { status != .given }

    /// Processes samples of the `location` stream.
    ///
    /// - Precondition: `locations` belongs to the location stream.
    public mutating func update(_ locations: SampleBlock) {
        precondition(locations.stream == .location, "the declination is that of a location")
        for (index, time) in locations.times.enumerated() {
            let time = Timestamp(microseconds: time)
            if let fix = LocationFix(time: time, values: locations.values(at: index)) { update(fix) }
        }
    }

    /// Processes a fix.
    public mutating func update(_ fix: LocationFix) {
        guard needsLocation, case .accepted(_, let fix) = filter.update(fix) else { return }
        if let evaluated, abs(fix.time - evaluated.time) < Self.maxAge,
            fix.coordinate.distance(to: evaluated.coordinate) < Self.maxDistance
        {
            return
        }
        // An implausible altitude is ignored: its influence on the declination is small, but it could make it NaN.
        let altitude = fix.altitude.flatMap { WorldMagneticModel.altitudes.contains($0) ? $0 : nil }
        guard let field = model.field(at: fix.coordinate, altitude: altitude ?? 0, date: fix.time) else { return }
        evaluated = fix
        declination = field.isCompassUnreliable ? nil : field.declination
        status =
            field.isCompassUnreliable
            ? .unreliableCompass : .model(name: model.name, isDateValid: field.isDateValid)
    }
}

extension DeclinationSource.Status: CustomStringConvertible {
    /// The status as a phrase, with advice.
    public var description: String {
        switch self {
        case .given: "declination given"
        case .model(let name, true): "declination from \(name)"
        case .model(let name, false): "declination from \(name), which is not valid at this date"
        case .noLocation: "declination unknown, no location yet; attitudes are relative to magnetic north"
        case .unreliableCompass: "no usable declination near a magnetic pole; attitudes are relative to magnetic north"
        }
    }
}
