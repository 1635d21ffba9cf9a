import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "IIO sensors, end to end", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct IIOSystemTests {
    @Test("measurements and steps of an IIO device are stored, converted to Lockstep's units and times")
    func stored() async throws {
        try await withSystem { system in
            let device = system.folder + "/sys/bus/iio/devices/iio:device0"
            try FileManager.default.createDirectory(atPath: device, withIntermediateDirectories: true)
            let attributes = [
                "name": "lis3dh", "in_accel_scale": "0.980665", "in_accel_x_raw": "1", "in_accel_y_raw": "2",
                "in_accel_z_raw": "10", "in_steps_input": "100",
            ]
            for (name, text) in attributes {
                try text.write(toFile: "\(device)/\(name)", atomically: false, encoding: .utf8)
            }
            _ = try system.startCollector()
            let began = Moment.now().wall.microseconds
            let agent = try system.startAgent(
                "board", source: "iio", ["--sysfs-root", system.folder + "/sys", "--dev-root", system.folder])
            #expect(await agent.waitForOutput("status=running"), "\(agent.text)")
            let reader = try await system.reader()
            let board = try DeviceID(validating: "board")

            var steps: [(time: Int64, values: [Double])] = []
            try await expectEventually("steps in the store: \(agent.text)") {
                // Walk on at two steps a second: the first reading is the baseline and gives no steps.
                let count = 100 + (Moment.now().wall.microseconds - began) / 500_000
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: device + "/in_steps_input"))
                try file.write(contentsOf: Data("\(count)".utf8))
                try file.close()
                steps = []
                try reader.query(stream: .steps, devices: [board]) { steps.append(($0.time.microseconds, $0.values)) }
                return !steps.isEmpty
            }
            for row in steps {
                #expect(row.values[0] >= Double(began) && row.values[0] < Double(row.time) && row.values[1] > 0)
            }

            var values: Set<[Double]> = []
            try reader.query(stream: .accelerometer, devices: [board]) { values.insert($0.values) }
            #expect(values == [[-0.1, -0.2, -1]])
        }
    }

    @Test(
        "the device buffers scans for a tenth of the agent's window",
        arguments: [("1s", "10"), ("600ms", "6"), ("20ms", "1")])
    func bufferedScans(window: String, watermark: String) async throws {
        try await withSystem { system in
            let device = system.folder + "/sys/bus/iio/devices/iio:device0"
            var attributes = [
                "name": "bmi160", "in_accel_scale": "0.001", "sampling_frequency": "100", "buffer/enable": "0",
                "buffer/length": "2", "buffer/watermark": "3", "trigger/current_trigger": "bmi160-dev0",
            ]
            for (index, axis) in ["x", "y", "z"].enumerated() {
                let element = "scan_elements/in_accel_\(axis)_"
                attributes["in_accel_\(axis)_raw"] = "1"
                attributes.merge([element + "en": "0", element + "index": "\(index)", element + "type": "le:s16/16>>0"])
                {
                    $1
                }
            }
            for (name, text) in attributes {
                let file = URL(fileURLWithPath: "\(device)/\(name)")
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: file)
            }
            #expect(mkfifo(system.folder + "/iio:device0", 0o600) == 0)
            let agent = try system.startAgent(
                "board", source: "iio",
                ["--sysfs-root", system.folder + "/sys", "--dev-root", system.folder, "--window", window])
            func text(_ name: String) throws -> String {
                try String(contentsOfFile: "\(device)/\(name)", encoding: .utf8).trimmingCharacters(
                    in: .whitespacesAndNewlines)
            }
            try await expectEventually("\(agent.text)") { try text("buffer/enable") == "1" }
            #expect(try text("buffer/watermark") == watermark)
        }
    }
}
