import Foundation
import LockstepModel
import LockstepMotion
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("VQF against the reference implementation")
struct VQFReferenceTests {
    /// A Python with the package `vqf`; nil if there is none.
    static let python: String? = {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? (environment["HOME"] ?? "") + "/.cache"
        let path = environment["LOCKSTEP_REFERENCE_PYTHON"] ?? cache + "/lockstep/reference/bin/python"
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()

    static let trials = [
        "06_undisturbed_fast_rotation_A.csv", "10_undisturbed_slow_translation_A.csv",
        "28_disturbed_stationary_magnet_A.csv",
    ]

    @Test(
        "VQF agrees with the reference implementation sample by sample", .enabled(if: sharedData != nil),
        .enabled(if: python != nil, "Python with the package vqf is missing: run deploy/check"), arguments: trials)
    func agreement(_ trial: String) throws {
        let file = sharedFile("orientation/" + trial)
        let reference = try Self.reference(of: file)
        let recording = try Recording(file: file)
        let gyroscope = try #require(recording.samples(of: .gyroscope)?.columns)
        let accelerometer = try #require(recording.samples(of: .accelerometer)?.columns)
        let magnetometer = try #require(recording.samples(of: .magnetometer)?.columns)
        let last = try #require(recording.times.last)
        let count = recording.times.count
        #expect(reference.count == count * 14)
        var vqf = VQF(interval: Double(last - recording.times[0]) / Double(count - 1) / 1e6)
        var worst = (withoutField: 0.0, withField: 0.0, bias: 0.0, sigma: 0.0)
        var flags = (rest: 0, disturbed: 0)
        for index in 0..<count {
            // The reference expects m/s², upward at rest.
            vqf.update(
                gyroscope: axes(gyroscope, index), accelerometer: axes(accelerometer, index) * -9.80665,
                magnetometer: axes(magnetometer, index))
            let row = Array(reference[index * 14..<index * 14 + 14])
            worst.withoutField = max(worst.withoutField, angle(vqf.attitude6D, row[0...3]))
            worst.withField = max(worst.withField, angle(vqf.attitude9D, row[4...7]))
            worst.bias = max(worst.bias, length(vqf.gyroscopeBias - SIMD3(row[8], row[9], row[10])))
            worst.sigma = max(worst.sigma, abs(vqf.gyroscopeBiasSigma - row[11]))
            if vqf.isAtRest != (row[12] != 0) { flags.rest += 1 }
            if vqf.isMagneticFieldDisturbed != (row[13] != 0) { flags.disturbed += 1 }
        }
        print("\(trial): \(worst.withoutField)° 6D, \(worst.withField)° 9D, \(worst.bias) rad/s, \(flags)")
        #expect(worst.withoutField < 0.001 && worst.withField < 0.001)
        #expect(worst.bias < 1e-7 && worst.sigma < 1e-7)
        #expect(flags == (0, 0))
    }

    @Test("processing a whole recording equals processing it sample by sample")
    func track() {
        let device = TurningDevice(gyroscopeBias: SIMD3(0.003, 0, 0.002))
        let times = (0..<2000).map { Double($0) / 100 }
        let gyroscope = times.map { device.sample(.gyroscope, at: $0) }
        let accelerometer = times.map { device.sample(.accelerometer, at: $0) * -9.80665 }
        let magnetometer = times.map { device.sample(.magnetometer, at: $0) }
        for field in [magnetometer, nil] {
            var (whole, single) = (VQF(interval: 0.01), VQF(interval: 0.01))
            let track = whole.track(gyroscope: gyroscope, accelerometer: accelerometer, magnetometer: field)
            #expect(track.attitudes6D.count == 2000 && track.attitudes9D.count == (field == nil ? 0 : 2000))
            for index in times.indices {
                single.update(
                    gyroscope: gyroscope[index], accelerometer: accelerometer[index], magnetometer: field?[index])
                #expect(track.attitudes6D[index] == single.attitude6D)
                #expect(track.gyroscopeBiases[index] == single.gyroscopeBias)
                #expect(track.gyroscopeBiasSigmas[index] == single.gyroscopeBiasSigma)
                #expect(track.isAtRest[index] == single.isAtRest)
                guard field != nil else { continue }
                #expect(track.attitudes9D[index] == single.attitude9D)
                #expect(track.isMagneticFieldDisturbed[index] == single.isMagneticFieldDisturbed)
            }
        }
    }

    private func axes(_ columns: [[Double]], _ index: Int) -> SIMD3<Double> {
        SIMD3(columns[0][index], columns[1][index], columns[2][index])
    }

    /// Returns the angle between two attitudes, in degrees.
    private func angle(_ ours: Quaternion, _ theirs: ArraySlice<Double>) -> Double {
        let values = Array(theirs)
        let other = Quaternion(scalar: values[0], vector: SIMD3(values[1], values[2], values[3]))
        let difference = (other.inverse * ours).rotationVector
        return length(difference) * 180 / .pi
    }

    static func reference(of file: String, _ options: String...) throws -> [Double] {
        let output = FileManager.default.temporaryDirectory.path + "/lockstep-reference-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: output) }
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/reference.py"
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(python))
        process.arguments = [script, file, output] + options
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        let data = try Data(contentsOf: URL(fileURLWithPath: output))
        return data.withUnsafeBytes { bytes in Array(bytes.bindMemory(to: Double.self)) }
    }
}
