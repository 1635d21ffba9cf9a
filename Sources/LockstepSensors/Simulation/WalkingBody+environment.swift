import LockstepMotion

// The barometer and the battery of the device on the body.
extension WalkingBody {
    /// The standard deviation of the barometer's noise, in hPa: about 0.2 m of altitude.
    package static let pressureNoise = 0.02

    /// Returns the air pressure of the standard atmosphere at the body's altitude, in hPa, without noise.
    package func pressure(at time: Double) -> Double { StandardAtmosphere.pressure(at: geodetic(at: time).altitude) }

    /// Returns reading `index` of the barometer at `time` s, in hPa.
    func pressure(at time: Double, index: Int64) -> Double {
        resolved(pressure(at: time) + Self.pressureNoise * noise(lane: 6, index: index).x, decimals: 3)
    }

    /// Returns the charge at `time` s: it falls from 80…100 % to 20 % by 1 % in five minutes, and rises again three
    /// times as fast.
    package func battery(at time: Double) -> BatteryReading {
        var generator = SeededGenerator(seed: seed, lane: 7)
        let low = 0.2
        let high = Double.random(in: 0.8...1, using: &generator)
        let discharging = (high - low) * 100 * 300
        let phase = time.truncatingRemainder(dividingBy: discharging * 4 / 3)
        let isCharging = phase >= discharging
        let level = isCharging ? low + (phase - discharging) / 10_000 : high - phase / 30_000
        return BatteryReading(level: (level * 100).rounded() / 100, state: isCharging ? .charging : .discharging)
    }
}
