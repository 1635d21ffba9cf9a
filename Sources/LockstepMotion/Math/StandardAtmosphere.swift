import Glibc

/// The international standard atmosphere below 11 km (ISO 2533:1975, ICAO Doc 7488): the temperature falls from 288.15 K
/// at mean sea level by 6.5 K/km.
package enum StandardAtmosphere {
    /// Air pressure at mean sea level, in hPa.
    package static let seaLevelPressure = 1013.25

    /// 288.15 K / 0.0065 K/m, in m.
    private static let scale = 288.15 / 0.0065
    /// R L / (g M) = 8.31432 × 0.0065 / (9.80665 × 0.0289644).
    private static let exponent = 8.314_32 * 0.0065 / (9.806_65 * 0.028_964_4)

    /// Returns the altitude in m at which the standard atmosphere has this pressure (international barometric formula).
    /// - Parameter pressure: hPa, above 0.
    package static func altitude(at pressure: Double) -> Double {
        scale * (1 - pow(pressure / seaLevelPressure, exponent))
    }

    /// Returns the pressure in hPa at an altitude in m above mean sea level: the inverse of ``altitude(at:)``.
    package static func pressure(at altitude: Double) -> Double {
        seaLevelPressure * pow(1 - altitude / scale, 1 / exponent)
    }
}
