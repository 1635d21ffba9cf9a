import Glibc
import LockstepModel
import LockstepMotion
import Testing

@Suite("World Magnetic Model")
struct WorldMagneticModelTests {
    private static let degree = Double.pi / 180
    private let model = WorldMagneticModel.wmm2025

    private func place(_ latitude: Double, _ longitude: Double) -> Coordinate {
        Coordinate(latitude: latitude, longitude: longitude)
    }

    /// Decimal year, height in km, latitude, longitude, and X, Y, Z in nT.
    ///
    /// `WMM2025_TEST_VALUES.txt` of the model's release.
    private static let testValues: [[Double]] = [
        [2025.0, 0, 80, 0, 6521.6, 145.9, 54791.5], [2025.0, 0, 0, 120, 39677.8, -109.6, -10580.2],
        [2025.0, 0, -80, 240, 6117.5, 15751.9, -52022.5], [2025.0, 100, 80, 0, 6216.0, 92.4, 52598.8],
        [2025.0, 100, 0, 120, 37688.6, -96.2, -10152.1], [2025.0, 100, -80, 240, 5907.6, 14780.3, -49540.7],
        [2027.5, 0, 80, 0, 6500.8, 294.5, 54869.4], [2027.5, 0, 0, 120, 39701.6, -167.4, -10381.8],
        [2027.5, 0, -80, 240, 6200.7, 15730.3, -51783.7], [2027.5, 100, 80, 0, 6196.7, 233.8, 52670.5],
        [2027.5, 100, 0, 120, 37711.5, -148.7, -9969.8], [2027.5, 100, -80, 240, 5984.0, 14760.1, -49317.7],
    ]

    @Test("the components agree with the official test values within their rounding", arguments: testValues)
    func official(row: [Double]) throws {
        let longitude = row[3] > 180 ? row[3] - 360 : row[3]
        let field = try #require(model.field(at: place(row[2], longitude), altitude: row[1] * 1000, year: row[0]))
        #expect(abs(field.north * 1000 - row[4]) < 0.055)
        #expect(abs(field.east * 1000 - row[5]) < 0.055)
        #expect(abs(field.down * 1000 - row[6]) < 0.055)
        #expect(field.isDateValid)
    }

    /// Decimal year, height in km, latitude, longitude, and declination in °: `WMM2025_TestValues.txt`.
    private static let declinations: [[Double]] = [
        [2025.0, 28, 89, -121, -99.77], [2025.0, 48, 80, -96, -29.91], [2025.0, 54, 82, 87, 54.89],
        [2025.0, 65, 43, 93, 0.50], [2025.0, 51, -33, 109, -5.49], [2025.0, 39, -59, -8, -15.75],
        [2025.0, 3, -50, -103, 27.96], [2025.0, 66, 14, 143, -0.19], [2025.0, 18, 0, 21, 1.29],
        [2025.5, 6, -36, -137, 20.28], [2025.5, 63, 26, 81, 0.51], [2026.0, 74, -57, 3, -22.51],
        [2026.0, 46, -24, -122, 14.01], [2026.0, 69, 23, 63, 1.17], [2027.0, 37, -66, -5, -17.22],
        [2027.0, 44, 22, 174, 6.46], [2028.0, 49, 20, 167, 5.10], [2029.0, 57, 34, -13, -1.89],
    ]

    @Test("the declination agrees with the official test values within their rounding", arguments: declinations)
    func declination(row: [Double]) throws {
        let field = try #require(model.field(at: place(row[2], row[3]), altitude: row[1] * 1000, year: row[0]))
        #expect(abs(field.declination / Self.degree - row[4]) < 0.0051)
    }

    /// Latitude, longitude, height in km, decimal year; declination and inclination in °, strength in nT.
    ///
    /// The output of pygeomag 1.1.0 for:
    /// ```
    /// import random
    /// from pygeomag import GeoMag
    ///
    /// random.seed(2025)
    /// model = GeoMag(coefficients_file="wmm/WMM_2025.COF")
    /// for _ in range(40):
    ///     latitude, longitude = round(random.uniform(-90, 90), 3), round(random.uniform(-180, 180), 3)
    ///     altitude, year = round(random.uniform(-0.5, 100), 2), round(random.uniform(2025, 2030), 3)
    ///     r = model.calculate(glat=latitude, glon=longitude, alt=altitude, time=year)
    ///     print(f"({latitude}, {longitude}, {altitude}, {year}, {r.d:.5f}, {r.i:.5f}, {r.f:.3f}),")
    /// ```
    // swift-format-ignore: one row per line
    private static let points: [(Double, Double, Double, Double, Double, Double, Double)] = [
        (10.395, 52.504, 47.5, 2025.866, -0.02133, 9.00037, 36952.471),
        (-89.919, 170.385, 56.76, 2025.329, 157.61276, -72.20938, 52945.808),
        (-17.843, -164.393, 76.61, 2029.91, 13.23256, -34.86194, 37158.287),
        (-72.117, -162.277, 2.3, 2027.551, 80.12951, -77.58042, 60090.694),
        (50.198, -110.065, 18.53, 2028.541, 11.11701, 72.76167, 54577.903),
        (86.621, 158.51, 63.69, 2029.606, -101.19877, 89.49829, 56047.238),
        (-26.195, 148.384, 59.36, 2027.731, 9.26852, -56.88799, 51448.444),
        (-52.528, -92.357, 2.75, 2028.922, 25.35626, -53.18446, 35856.719),
        (9.49, -47.534, 98.8, 2027.303, -17.35513, 13.21917, 28276.328),
        (-40.002, 112.555, 57.52, 2029.112, -8.20816, -73.34828, 60038.330),
        (-31.66, -19.203, 79.81, 2027.282, -22.97733, -61.99833, 23375.284),
        (34.265, 92.527, 56.05, 2028.274, -0.03940, 53.75405, 51776.853),
        (15.729, 92.848, 85.47, 2029.199, -0.66037, 20.62609, 41690.531),
        (-28.032, 15.827, 59.77, 2025.805, -18.84429, -65.37087, 25432.809),
        (-39.61, -60.774, 35.78, 2027.789, -4.91453, -44.00241, 23232.459),
        (29.986, -80.754, 27.09, 2028.193, -7.56214, 57.70152, 44691.133),
        (-63.288, -53.625, 72.86, 2028.12, 7.74961, -56.96986, 33536.421),
        (56.061, 14.077, 56.91, 2027.512, 5.76090, 70.58044, 49713.662),
        (-20.939, -56.395, 24.26, 2027.94, -17.76559, -29.49672, 22077.457),
        (0.943, 26.515, 68.58, 2026.028, 1.77319, -21.22157, 31933.694),
        (-53.142, -128.369, 44.07, 2027.864, 33.11108, -63.43369, 46263.043),
        (47.636, -86.956, 0.64, 2027.911, -5.47008, 72.41584, 55015.945),
        (-54.828, -128.774, 16.82, 2028.403, 34.88591, -64.42030, 47690.841),
        (41.626, -86.628, 90.72, 2025.682, -4.78440, 68.16160, 50281.657),
        (23.134, 86.897, 14.63, 2029.734, -0.12066, 36.02834, 46481.214),
        (-48.742, 90.521, 79.11, 2025.388, -47.97880, -75.88078, 56129.508),
        (1.795, -93.4, 41.59, 2028.998, 3.19107, 22.02212, 29378.034),
        (54.184, 63.131, 58.63, 2026.141, 12.89529, 72.50884, 55356.572),
        (69.522, -52.918, 71.28, 2027.582, -26.51265, 80.92772, 53832.988),
        (-23.512, -8.811, 25.62, 2025.333, -20.84621, -63.12274, 26117.216),
        (77.653, -69.277, 50.47, 2028.085, -35.25922, 85.54231, 55089.234),
        (21.64, -29.772, 32.77, 2028.895, -9.12646, 25.17847, 34284.097),
        (82.924, 166.83, 90.53, 2025.778, -16.43630, 87.73147, 55735.136),
        (65.12, -59.71, 73.75, 2027.477, -24.69914, 79.54872, 54075.032),
        (-57.091, 5.01, 6.82, 2025.917, -23.69616, -58.20917, 28334.745),
        (-26.902, 105.514, 5.53, 2029.13, -3.38607, -61.42618, 55338.019),
        (77.325, -136.261, 68.52, 2027.978, 12.50780, 85.53783, 55650.219),
        (-29.45, -72.983, 67.68, 2028.037, -0.30627, -30.55663, 22486.952),
        (-55.314, -160.432, 39.6, 2027.923, 38.15305, -70.92232, 54720.366),
        (38.7, -77.792, 26.22, 2026.59, -10.19988, 64.70681, 49574.638),
    ]

    @Test("declination, inclination and strength agree with pygeomag at random places and dates")
    func points() throws {
        for point in Self.points {
            let field = try #require(
                model.field(at: place(point.0, point.1), altitude: point.2 * 1000, year: point.3))
            #expect(abs(field.declination / Self.degree - point.4) < 1e-4, "\(point)")
            #expect(abs(field.inclination / Self.degree - point.5) < 1e-4, "\(point)")
            #expect(abs(field.strength * 1000 - point.6) < 0.01, "\(point)")
        }
    }

    @Test("a date outside of the model's validity yields the field of the nearest valid date")
    func validity() throws {
        let zurich = place(47.4, 8.5)
        let end = try #require(model.field(at: zurich, year: 2030))
        let later = try #require(model.field(at: zurich, year: 2031.5))
        #expect(end.isDateValid && !later.isDateValid)
        #expect(later.declination == end.declination)
        let start = try #require(model.field(at: zurich, year: 2025))
        let epoch = try #require(model.field(at: zurich, date: Timestamp(microseconds: 0)))
        #expect(!epoch.isDateValid && epoch.declination == start.declination)
        #expect(start.declination != end.declination)
    }

    @Test("the decimal year of a time counts leap years")
    func dates() throws {
        let place = place(47.4, 8.5)
        for (time, year) in [
            ("2025-01-01T00:00:00Z", 2025.0), ("2028-07-02T00:00:00Z", 2028.5),
            ("2027-12-31T12:00:00Z", 2028 - 0.5 / 365),
        ] {
            let date = try #require(Timestamp(time))
            let dated = try #require(model.field(at: place, date: date))
            let expected = try #require(model.field(at: place, year: year))
            #expect(abs(dated.east - expected.east) < 1e-9, "\(time)")
        }
        #expect(model.isValid(at: try #require(Timestamp("2029-12-31T23:59:59Z"))))
        #expect(!model.isValid(at: try #require(Timestamp("2030-01-02T00:00:00Z"))))
        #expect(!model.isValid(at: try #require(Timestamp("2024-12-31T23:59:59Z"))))
    }

    @Test("the field is finite at the poles and continuous towards them")
    func poles() throws {
        for latitude in [-90.0, 90] {
            let pole = try #require(model.field(at: place(latitude, 30), year: 2026))
            let near = try #require(model.field(at: place(latitude * (1 - 1e-9), 30), year: 2026))
            #expect(abs(pole.north - near.north) < 1e-3 && abs(pole.east - near.east) < 1e-3)
            #expect(abs(pole.down - near.down) < 1e-3)
        }
    }

    @Test("a compass is unreliable near a magnetic pole, and invalid places have no field")
    func limits() throws {
        let nearPole = try #require(model.field(at: place(85.8, 139), year: 2025))
        #expect(nearPole.isCompassUnreliable)
        let bern = try #require(model.field(at: place(47, 7.4), year: 2025))
        #expect(!bern.isCompassUnreliable)
        #expect(model.field(at: place(91, 0), year: 2025) == nil)
        #expect(model.field(at: place(.nan, 0), year: 2025) == nil)
        #expect(model.field(at: place(0, 0), altitude: .infinity, year: 2025) == nil)
    }
}
