public import LockstepModel

/// Computes the magnetic declination of a place: the angle from true to magnetic north in rad, east positive; nil where
/// the model does not hold.
///
/// Latitude and longitude are in degrees, WGS 84; the altitude is in m above mean sea level.
public typealias DeclinationModel =
    @Sendable (_ latitude: Double, _ longitude: Double, _ altitude: Double, _ time: Timestamp) -> Double?

/// The magnetic declination at the device: a fixed value, or one computed from the latest position.
///
/// This is the only place where derived streams get the declination from.
struct Declination: Sendable {
    /// The angle from true to magnetic north in rad, east positive; nil while it is unknown.
    private(set) var value: Double?

    /// nil if the value is fixed.
    private let model: DeclinationModel?

    /// - Parameters:
    ///   - fixed: The declination in rad; takes precedence over the model.
    ///   - model: Used where no fixed value is given.
    init(_ fixed: Double?, model: DeclinationModel? = nil) {
        value = fixed
        self.model = fixed == nil ? model : nil
    }

    /// Whether samples of the location are needed.
    var needsPosition: Bool { model != nil }

    /// Computes the declination at the newest position in samples of the `location` stream.
    mutating func update(_ locations: SampleBlock) {
        guard let model else { return }
        for index in locations.times.indices.reversed() {
            let values = locations.values(at: index)
            guard values[0].isFinite, values[1].isFinite else { continue }
            let altitude = values[2].isFinite ? values[2] : 0
            value = model(values[0], values[1], altitude, Timestamp(microseconds: locations.times[index])) ?? value
            return
        }
    }
}
