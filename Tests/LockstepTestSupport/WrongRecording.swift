/// A recording of a device with a wrong accelerometer and gyroscope, which is laid into nine positions, again and again.
public enum WrongRecording {
    private static let positions: [SIMD3<Double>] = [
        SIMD3(0, 0, -1), SIMD3(0, 0, 1), SIMD3(0, -1, 0), SIMD3(0, 1, 0), SIMD3(-1, 0, 0), SIMD3(1, 0, 0),
        SIMD3(0.8, 0.6, 0), SIMD3(-0.6, 0, 0.8), SIMD3(0, -0.8, -0.6),
    ]

    /// Returns the text of a recording at 50 Hz with each position for 3 s.
    /// - Parameters:
    ///   - start: the time of the first sample, in µs.
    ///   - isCalibrated: whether the samples are right.
    public static func text(repetitions: Int = 1, start: Int64 = 0, isCalibrated: Bool = false) -> String {
        var lines = ["t_us,x_g,y_g,z_g,gx_rad_s,gy_rad_s,gz_rad_s"]
        var index = 0
        for position in Array(repeating: positions, count: repetitions).joined() {
            for _ in 0..<150 {
                // ±2 mg, in the place of noise.
                let noise = index % 2 == 0 ? 0.002 : -0.002
                let time = start + Int64(index) * 20_000
                index += 1
                if isCalibrated {
                    lines.append("\(time),\(position.x + noise),\(position.y + noise),\(position.z - noise),0,0,0")
                    continue
                }
                let x = 1.05 * position.x + 0.03 * position.y + 0.08 + noise
                let y = 0.97 * position.y - 0.02 * position.z - 0.05 + noise
                let z = 1.02 * position.z + 0.03 * position.x + 0.03 - noise
                lines.append("\(time),\(x),\(y),\(z),\(0.05 + noise),\(-0.03),\(0.01 - noise)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
