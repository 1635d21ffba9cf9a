import LockstepModel
import LockstepMotion
import SensorTestSupport
import Testing

@testable import LockstepSensors

@Suite("Altitude from air pressure")
struct AltitudeTests {
    /// Values of the standard atmosphere (ISO 2533:1975): geopotential altitude in m, pressure in hPa.
    @Test(
        "the barometric formula agrees with the tables of the standard atmosphere",
        arguments: [(-500.0, 1074.78), (0, 1013.25), (500, 954.61), (1000, 898.75), (5000, 540.20), (11_000, 226.32)])
    func standardAtmosphere(altitude: Double, pressure: Double) {
        #expect(abs(StandardAtmosphere.pressure(at: altitude) - pressure) < 0.02)
        #expect(abs(StandardAtmosphere.altitude(at: pressure) - altitude) < 0.5)
    }

    private func block(_ pressures: [Double]) -> SampleBlock {
        SampleBlock(stream: .pressure, times: pressures.indices.map { Int64($0) * 1_000_000 }, columns: [pressures])
    }

    @Test("the altitude is relative to the first sample, about 8.3 m per hPa near sea level")
    func relative() {
        var sensor = AltitudeSensor()
        let altitudes = sensor.update(block([1013.25, 1012.25, 1014.25]))
        #expect(altitudes.stream == .altitude && altitudes.times == [0, 1_000_000, 2_000_000])
        #expect(altitudes.columns[0][0] == 0)
        #expect(abs(altitudes.columns[0][1] - 8.33) < 0.01)
        #expect(abs(altitudes.columns[0][2] + 8.32) < 0.01)
        _ = sensor.finish()
        #expect(sensor.update(block([900])).columns == [[0]])
    }

    @Test("a pressure of 0 has no altitude")
    func impossible() {
        var sensor = AltitudeSensor()
        #expect(sensor.update(block([0, -1])).isEmpty)
    }
}
