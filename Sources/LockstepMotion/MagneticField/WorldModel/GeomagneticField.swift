import Glibc

/// The earth's magnetic field at a place and date, according to a model.
///
/// Local sources (buildings, rocks, cables) are not part of a model; they change the declination by some tenths of a
/// degree outdoors and by any amount indoors.
public struct GeomagneticField: Sendable, Hashable {
    /// The component towards true north, in µT.
    public let north: Double
    /// The component towards east, in µT.
    public let east: Double
    /// The component downwards, in µT.
    public let down: Double
    /// Whether the date is within the model's validity. If not, this is the field of the nearest valid date.
    public let isDateValid: Bool

    /// The strength of the horizontal component, in µT.
    public var horizontalStrength: Double { hypot(north, east) }
    /// The strength of the field, in µT.
    public var strength: Double { hypot(horizontalStrength, down) }
    /// The angle from true to magnetic north in rad, −π…π, east positive.
    public var declination: Double { atan2(east, north) }
    /// The angle of the field below the horizontal in rad, −π/2…π/2.
    public var inclination: Double { atan2(down, horizontalStrength) }

    /// The standard error of ``declination`` in rad, from the error model of WMM2025: √(0.26² + (5.417 / H)²) in
    /// degrees, where H is ``horizontalStrength`` in µT.
    public var declinationError: Double { hypot(0.26, 5.417 / horizontalStrength) * .pi / 180 }

    /// Whether a compass is unusable, because the horizontal component is below 2 µT. These are the blackout zones of
    /// the World Magnetic Model around the magnetic poles.
    public var isCompassUnreliable: Bool { horizontalStrength < 2 }
}
