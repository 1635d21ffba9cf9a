import Glibc
public import LockstepModel

/// A spherical-harmonic model of the earth's main magnetic field.
///
/// A. Chulliat et al., "The US/UK World Magnetic Model for 2025-2030: Technical Report", National Centers for
/// Environmental Information, NOAA (2025): equations 4 to 18. The declination of ``wmm2025`` has a standard error of
/// about 0.3° at middle latitudes and more towards the magnetic poles.
public struct WorldMagneticModel: Sendable {
    /// The name of the model, such as `WMM2025`.
    public let name: String
    /// The decimal year to which the coefficients refer, and the start of the validity.
    public let epoch: Double
    /// The decimal years in which the model is valid.
    public var validYears: ClosedRange<Double> { epoch...epoch + 5 }

    /// The heights above the ellipsoid at which the model is valid, in m.
    static let altitudes = -1000.0...850_000

    private let degree: Int
    /// Rows of g, h, ġ and ḣ by degree and order, in nT and nT per year.
    private let coefficients: [Double]

    /// The semi-major axis of WGS 84, in m.
    private static let equatorialRadius = 6_378_137.0
    private static let flattening = 1 / 298.257_223_563
    /// The reference radius of geomagnetic models, in m.
    private static let referenceRadius = 6_371_200.0
    private static let nanoteslaPerMicrotesla = 1000.0

    init(name: String, epoch: Double, degree: Int, coefficients: [Double]) {
        precondition(
            coefficients.count == 2 * degree * (degree + 3), "a model has four values for each degree and order")
        self.name = name
        self.epoch = epoch
        self.degree = degree
        self.coefficients = coefficients
    }

    /// Whether the model is valid at `date`.
    public func isValid(at date: Timestamp) -> Bool { validYears.contains(decimalYear(date)) }

    /// Returns the field at a place and date.
    ///
    /// - Parameters:
    ///   - coordinate: the position, WGS 84.
    ///   - altitude: the height above the ellipsoid in m, −1000…850,000. The height above mean sea level differs by at
    ///     most 110 m, which is negligible.
    ///   - date: the time. Outside of ``validYears`` the nearest valid date is used, and the result says so.
    /// - Returns: nil if the coordinate is invalid.
    public func field(at coordinate: Coordinate, altitude: Double = 0, date: Timestamp) -> GeomagneticField? {
        field(at: coordinate, altitude: altitude, year: decimalYear(date))
    }

    /// Returns the field at a place and decimal year, such as 2027.5.
    ///
    /// - Parameters:
    ///   - coordinate: the position, WGS 84.
    ///   - altitude: the height above the ellipsoid, in m.
    ///   - year: the decimal year.
    /// - Returns: nil if the coordinate or the altitude is invalid.
    public func field(at coordinate: Coordinate, altitude: Double = 0, year: Double) -> GeomagneticField? {
        guard coordinate.isValid, altitude.isFinite, year.isFinite else { return nil }
        let latitude = coordinate.latitude * .pi / 180
        let place = Self.geocentric(latitude: latitude, altitude: altitude)
        let elapsed = min(max(year, validYears.lowerBound), validYears.upperBound) - epoch
        let field = synthesis(at: place, longitude: coordinate.longitude * .pi / 180, elapsed: elapsed)
        // Rotate the components from the vertical of the sphere to that of the ellipsoid.
        let tilt = place.latitude - latitude
        return GeomagneticField(
            north: (field.north * cos(tilt) - field.down * sin(tilt)) / Self.nanoteslaPerMicrotesla,
            east: field.east / Self.nanoteslaPerMicrotesla,
            down: (field.north * sin(tilt) + field.down * cos(tilt)) / Self.nanoteslaPerMicrotesla,
            isDateValid: validYears.contains(year))
    }

    /// A position on a sphere about the earth's centre: latitude in rad, radius in m.
    private struct Geocentric {
        let latitude: Double
        let radius: Double
    }

    /// Converts a geodetic latitude in rad and a height in m.
    private static func geocentric(latitude: Double, altitude: Double) -> Geocentric {
        let squaredEccentricity = flattening * (2 - flattening)
        let sine = sin(latitude)
        let curvature = equatorialRadius / (1 - squaredEccentricity * sine * sine).squareRoot()
        let equatorial = (curvature + altitude) * cos(latitude)
        let polar = (curvature * (1 - squaredEccentricity) + altitude) * sine
        return Geocentric(latitude: atan2(polar, equatorial), radius: hypot(equatorial, polar))
    }

    /// Returns the field in nT in the axes of the sphere, `elapsed` years after the epoch.
    private func synthesis(
        at place: Geocentric, longitude: Double, elapsed: Double
    ) -> (north: Double, east: Double, down: Double) {
        let legendre = LegendreFunctions(degree: degree, latitude: place.latitude)
        var (north, east, down) = (0.0, 0.0, 0.0)
        var row = 0
        for n in 1...degree {
            let power = pow(Self.referenceRadius / place.radius, Double(n + 2))
            for m in 0...n {
                let order = Double(m)
                let g = coefficients[row] + elapsed * coefficients[row + 2]
                let h = coefficients[row + 1] + elapsed * coefficients[row + 3]
                row += 4
                let (sine, cosine) = (sin(order * longitude), cos(order * longitude))
                let potential = power * (g * cosine + h * sine)
                north -= potential * legendre.derivative(n, m)
                east += power * order * (g * sine - h * cosine) * legendre.valueByCosine(n, m)
                down -= Double(n + 1) * potential * legendre.value(n, m)
            }
        }
        return (north, east, down)
    }
}

/// Returns the decimal year of a time in UTC: 2026.5 is in the middle of 2026.
private func decimalYear(_ date: Timestamp) -> Double {
    let days = Double(date.microseconds) / 86_400_000_000
    var year = 1970 + Int((days / 365.2425).rounded(.down))
    while Double(firstDay(of: year)) > days { year -= 1 }
    while Double(firstDay(of: year + 1)) <= days { year += 1 }
    let first = firstDay(of: year)
    return Double(year) + (days - Double(first)) / Double(firstDay(of: year + 1) - first)
}

/// Returns the days from 1970-01-01 to the first day of a year.
private func firstDay(of year: Int) -> Int {
    func leapDays(before year: Int) -> Int {
        func quotient(_ divisor: Int) -> Int { Int((Double(year - 1) / Double(divisor)).rounded(.down)) }
        return quotient(4) - quotient(100) + quotient(400)
    }
    return 365 * (year - 1970) + leapDays(before: year) - leapDays(before: 1970)
}
