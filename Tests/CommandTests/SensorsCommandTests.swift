import Foundation
import LockstepTestSupport
import Testing

@Suite("lockstep-agent sensors")
struct SensorsCommandTests {
    /// The attributes of three devices: a polled one, one with an invalid mount matrix, and a second accelerometer.
    private static let tree = [
        "iio:device0/name": "bmi160", "iio:device0/in_accel_x_raw": "0", "iio:device0/in_accel_y_raw": "0",
        "iio:device0/in_accel_z_raw": "0", "iio:device0/in_accel_scale": "0.000598",
        "iio:device0/in_mount_matrix": "0, 1, 0; 1, 0, 0; 0, 0, -1", "iio:device0/in_steps_input": "0",
        "iio:device1/name": "ak8975", "iio:device1/in_magn_x_raw": "0", "iio:device1/in_magn_y_raw": "0",
        "iio:device1/in_magn_z_raw": "0", "iio:device1/in_magn_scale": "0.003",
        "iio:device1/mount_matrix": "1, 0, 0; 0, 1, 0; 0, 1, 0",
        "iio:device2/name": "lis3dh", "iio:device2/in_accel_x_input": "0", "iio:device2/in_accel_y_input": "0",
        "iio:device2/in_accel_z_input": "0", "iio:device2/label": "accel-base", "iio:device2/location": "base",
    ]

    private func withTree<Result>(
        _ attributes: [String: String], _ body: (String) async throws -> Result
    ) async throws -> Result {
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(
                atPath: folder + "/bus/iio/devices", withIntermediateDirectories: true)
            for (name, text) in attributes {
                let file = URL(fileURLWithPath: "\(folder)/bus/iio/devices/\(name)")
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try (text + "\n").write(to: file, atomically: true, encoding: .utf8)
            }
            return try await body(folder)
        }
    }

    private func sensors(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep-agent"), ["sensors"] + arguments, environment: environment)
    }

    @Test("the table has name, stream, rates, unit, access, mount matrix and problems")
    func table() async throws {
        try await withTree(Self.tree) { folder in
            let run = try await sensors(["--sysfs-root", folder, "--dev-root", folder])
            #expect(run.status == 0)
            #expect(
                run.text == """
                    NAME    LABEL             STREAM                       RATES  UNIT   ACCESS  MOUNT MATRIX          PROBLEM
                    bmi160  -                 motion/accelerometer  0.001-100 Hz  g      polled  0 1 0; 1 0 0; 0 0 -1  -
                    bmi160  -                 steps                            -  steps  polled  -                     -
                    ak8975  -                 motion/magnetometer   0.001-100 Hz  µT     polled  -                     \
                    iio:device1: mount_matrix '1, 0, 0; 0, 1, 0; 0, 1, 0' is not a rotation (orthogonal rows of \
                    length 1); correct the sensor's mount-matrix in the device tree or the firmware tables, or set another \
                    one, as in --mount-matrix 'iio:device1=1 0 0; 0 1 0; 0 0 1'; used without one
                    lis3dh  accel-base, base  motion/accelerometer  0.001-100 Hz  g      polled  -                     \
                    not used: iio:device0 already provides motion/accelerometer

                    """)
        }
    }

    @Test("JSON has the same content, and the root can be set in the environment")
    func json() async throws {
        try await withTree(Self.tree.filter { !$0.key.hasPrefix("iio:device1") }) { folder in
            let run = try await sensors(["--json"], environment: ["LOCKSTEP_SYSFS_ROOT": folder + "/"])
            #expect(run.status == 0)
            #expect(
                run.text == """
                    [{"name":"bmi160","stream":"motion/accelerometer","rates":[0.001,100],"unit":"g","access":"polled",\
                    "mount_matrix":[[0,1,0],[1,0,0],[0,0,-1]]},
                     {"name":"bmi160","stream":"steps","unit":"steps","access":"polled"},
                     {"name":"lis3dh","label":"accel-base","location":"base","stream":"motion/accelerometer","rates":[0.001,100],"unit":"g",\
                    "access":"polled","problem":"not used: iio:device0 already provides motion/accelerometer"}]

                    """)
        }
    }

    @Test("the sensors of other sources are listed")
    func otherSources() async throws {
        let run = try await sensors(["--source", "gpsd", "--source", "simulate:7"])
        #expect(run.status == 0)
        #expect(
            run.text == """
                NAME                   STREAM                         RATES  UNIT     ACCESS     MOUNT MATRIX  PROBLEM
                gpsd://localhost:2947  location                           -  ° m m/s  -          -             -
                simulate:7             motion/accelerometer  0.001-10000 Hz  g        simulated  -             -
                simulate:7             motion/gyroscope      0.001-10000 Hz  rad/s    simulated  -             -
                simulate:7             motion/magnetometer   0.001-10000 Hz  µT       simulated  -             -
                simulate:7             location                        1 Hz  ° m m/s  simulated  -             -
                simulate:7             pressure                0.001-100 Hz  hPa      simulated  -             -
                simulate:7             battery                         1 Hz  -        simulated  -             -

                """)
    }

    @Test("a system without sensors is reported, and the exit status is 1")
    func nothing() async throws {
        try await withTree([:]) { folder in
            let run = try await sensors(["--sysfs-root", folder])
            #expect(run.status == 1)
            #expect(
                run.text == """
                    Error: no IIO sensor: no device in \(folder)/bus/iio/devices is an accelerometer, gyroscope, \
                    magnetometer, barometer or step counter (in_accel_*, in_anglvel_*, in_magn_*, in_pressure_*, \
                    in_steps_input); load the driver of the sensor (modprobe, a device tree overlay)

                    """)
        }
    }

    @Test("unusable sensors are listed, and the exit status is 1 if there are no others")
    func unusable() async throws {
        try await withTree(Self.tree.filter { $0.key.hasPrefix("iio:device1") }) { folder in
            try FileManager.default.removeItem(atPath: folder + "/bus/iio/devices/iio:device1/in_magn_scale")
            let run = try await sensors(["--sysfs-root", folder, "--json"])
            #expect(run.status == 1)
            #expect(run.text.contains("/in_magn_scale is missing or 0, so the unit of its counts is unknown"))
            #expect(run.text.contains("Error: no IIO sensor can be used: motion/magnetometer of ak8975"))
        }
    }

    @Test("a device can be chosen, with another mount matrix, and an unknown device is reported")
    func choices() async throws {
        try await withTree(Self.tree) { folder in
            let options = ["--sysfs-root", folder, "--json"]
            let run = try await sensors(
                options + ["--iio-device", "base", "--mount-matrix", "lis3dh=0 1 0; 1 0 0; 0 0 1"])
            #expect(run.status == 0)
            let list = try #require(try JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [[String: Any]])
            let used = list.filter { $0["problem"] == nil }.compactMap { $0["name"] as? String }
            #expect(used == ["bmi160", "ak8975", "lis3dh"])
            #expect(list.last?["mount_matrix"] as? [[Int]] == [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
            #expect(list.contains { ($0["warning"] as? String)?.contains("is not a rotation") == true })
            let unknown = try await sensors(options, environment: ["LOCKSTEP_IIO_DEVICE": "accel-lid"])
            #expect(unknown.text.contains("no IIO device is named 'accel-lid'"))
            let wrong = try await sensors(options + ["--mount-matrix", "0 0 0; 0 0 0; 0 0 0"])
            #expect(wrong.status == 1 && wrong.text.contains("--mount-matrix: '0 0 0; 0 0 0; 0 0 0' is not a rotation"))
        }
    }

    @Test("options may precede the subcommand")
    func optionBefore() async throws {
        try await withTree(Self.tree) { folder in
            let run = try await RunningProgram.run(
                Programs.built("lockstep-agent"), ["--sysfs-root", folder, "sensors", "--json"])
            #expect(run.status == 0 && run.text.contains("bmi160"), "\(run.text)")
        }
    }

    @Test(
        "the sensors of the system are found without options",
        .enabled(if: Programs.isInstalled("umockdev-run"), "umockdev-run is not installed"))
    func mocked() async throws {
        try await withTemporaryFolder { folder in
            let file = folder + "/imu.umockdev"
            try Self.mockedDevice.write(toFile: file, atomically: true, encoding: .utf8)
            let run = try await RunningProgram.run(
                "/usr/bin/env",
                ["umockdev-run", "--device", file, "--", Programs.built("lockstep-agent"), "sensors"])
            #expect(run.status == 0)
            #expect(
                run.text == """
                    NAME    STREAM                     RATES  UNIT   ACCESS                      MOUNT MATRIX         \
                    PROBLEM
                    bmi160  motion/accelerometer  25-1600 Hz  g      buffered, /dev/iio:device0  1 0 0; 0 1 0; 0 0 1  -
                    bmi160  motion/gyroscope      25-1600 Hz  rad/s  buffered, /dev/iio:device0  1 0 0; 0 1 0; 0 0 1  -

                    """)
        }
    }

    /// The udev description of an IMU with a buffer.
    private static let mockedDevice: String = {
        var lines = [
            "P: /devices/platform/soc/i2c-1/1-0068/iio:device0", "N: iio:device0", "E: DEVNAME=/dev/iio:device0",
            "E: DEVTYPE=iio_device", "E: SUBSYSTEM=iio", "A: name=bmi160", "A: buffer/enable=0",
            "A: current_timestamp_clock=realtime", "A: in_mount_matrix=1, 0, 0; 0, 1, 0; 0, 0, 1",
            "A: scan_elements/in_timestamp_en=0", "A: scan_elements/in_timestamp_index=6",
            "A: scan_elements/in_timestamp_type=le:s64/64>>0", "A: trigger/current_trigger=bmi160-dev0",
        ]
        for (number, quantity) in ["accel", "anglvel"].enumerated() {
            lines += [
                "A: in_\(quantity)_scale=0.000598", "A: in_\(quantity)_sampling_frequency=25",
                "A: in_\(quantity)_sampling_frequency_available=25 50 100 200 400 800 1600",
            ]
            for (axis, letter) in ["x", "y", "z"].enumerated() {
                lines += [
                    "A: in_\(quantity)_\(letter)_raw=0", "A: scan_elements/in_\(quantity)_\(letter)_en=0",
                    "A: scan_elements/in_\(quantity)_\(letter)_index=\(3 * number + axis)",
                    "A: scan_elements/in_\(quantity)_\(letter)_type=le:s16/16>>0",
                ]
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }()
}
