import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("IIO discovery")
struct IIODiscoveryTests {
    @Test("a buffered sensor is described with its rates, mount matrix and device")
    func buffered() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel", "anglvel"], more: ["in_mount_matrix": "0, 1, 0; 1, 0, 0; 0, 0, -1"])
            _ = try fake.makeNode("iio:device0")
            let expected = [SensorStream.accelerometer, .gyroscope].map {
                SensorDescription(
                    name: "bmi160", stream: $0, rates: 25...200, mountMatrix: [[0, 1, 0], [1, 0, 0], [0, 0, -1]],
                    access: "buffered, \(fake.dev)/iio:device0")
            }
            #expect(fake.source.sensors() == expected)
            #expect(fake.source.streams == [.accelerometer, .gyroscope])
            #expect(fake.source.nativeRate(of: .accelerometer) == 100)
            #expect(fake.source.nativeRate(of: .steps) == nil)
        }
    }

    @Test("a sensor without buffer is polled, and a step counter is found")
    func polled() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            try fake.add("iio:device0", ["in_steps_input": "7"])
            #expect(
                fake.source.sensors() == [
                    SensorDescription(
                        name: "lis3dh", stream: .accelerometer, rates: 0.001...100, access: "polled"),
                    SensorDescription(name: "lis3dh", stream: .steps, access: "polled"),
                ])
            #expect(fake.source.nativeRate(of: .accelerometer) == 50)
        }
    }

    @Test("processed values need no scale, and a label serves as name")
    func processed() async throws {
        try await withFakeIIO { fake in
            try fake.add(
                "iio:device3",
                ["label": "compass", "in_magn_x_input": "1", "in_magn_y_input": "2", "in_magn_z_input": "3"])
            #expect(fake.source.sensors().map(\.name) == ["compass"])
            #expect(fake.source.streams == [.magnetometer])
            // The resolution of processed values is unknown.
            let conversion = fake.tree.devices()[0].sensors[0].conversion
            #expect(conversion.values(of: SIMD3(0.123456789, 0.00000001, -1)) == [12.3456789, 0.000001, -100])
        }
    }

    @Test("the device with the lowest number provides a stream")
    func twice() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer("iio:device10", name: "second")
            try fake.addPolledAccelerometer("iio:device2", name: "first")
            let sensors = fake.source.sensors()
            #expect(sensors.map(\.name) == ["first", "second"])
            #expect(
                sensors.map(\.problem) == [nil, "not used: iio:device2 already provides motion/accelerometer"])
        }
    }

    @Test("a device is found again under a new number, and not confused with another one of the same name")
    func again() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer("iio:device0")
            try fake.addPolledAccelerometer("iio:device1")
            let selection = IIOSelection(fake.tree.devices())
            let group = try #require(selection.groups.first)
            let others = selection.others(than: group)
            #expect(try group.find(in: fake.tree, except: others).id == "iio:device0")
            try fake.remove("iio:device0")
            let error = try #require(throws: IIOError.self) { try group.find(in: fake.tree, except: others) }
            #expect(
                error.description
                    == "the sensor is not in \(fake.sysfs)/bus/iio/devices any more; connect it again or load its driver"
            )
            try fake.addPolledAccelerometer("iio:device2")
            #expect(try group.find(in: fake.tree, except: others).id == "iio:device2")
        }
    }

    @Test("a device is found again under the number that another device had")
    func reusedNumber() async throws {
        try await withFakeIIO { fake in
            try fake.addSensorHub()
            let selection = IIOSelection(fake.tree.devices())
            let group = try #require(selection.groups.first { $0.streams == [.gyroscope] })
            for number in 0..<3 { try fake.rename("iio:device\(number)", to: "removed-\(number)") }
            try fake.rename("removed-1", to: "iio:device0")
            #expect(try group.find(in: fake.tree, except: selection.others(than: group)).id == "iio:device0")
        }
    }

    @Test("an unusable sensor is replaced by the next one")
    func fallback() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer("iio:device0", name: "broken")
            try fake.add("iio:device0", ["mount_matrix": "1, 0, 0; 0, 2, 0; 0, 0, 1"])
            try fake.addPolledAccelerometer("iio:device1", name: "good")
            let sensors = fake.source.sensors()
            #expect(
                sensors.map(\.problem) == ["not used: iio:device1 already provides motion/accelerometer", nil])
            #expect(
                sensors.map(\.warning) == [
                    "iio:device0: mount_matrix '1, 0, 0; 0, 2, 0; 0, 0, 1' is not a rotation (orthogonal rows of "
                        + "length 1); correct the sensor's mount-matrix in the device tree or the firmware tables, or set "
                        + "another one, as in --mount-matrix 'iio:device0=1 0 0; 0 1 0; 0 0 1'; used without one",
                    nil,
                ])
        }
    }

    @Test(
        "a sensor whose mount matrix is no rotation is used without one, with a warning in its status",
        arguments: ["0, 0, 0; 0, 0, 0; 0, 0, 0", "0, -1, 0; 1, 0, 0; 0, 0, 0"])
    func degenerateMatrix(matrix: String) async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            try fake.add("iio:device0", ["in_accel_mount_matrix": matrix])
            #expect(fake.source.failure == nil)
            #expect(fake.source.sensors().first?.mountMatrix == nil)
            let statuses = try await withRunning(fake.source) { sink in
                #expect(await sink.wait { !$0.samples(.accelerometer).isEmpty && $0.statuses.count >= 2 })
                return sink.seen.statuses.map(\.description)
            }
            #expect(
                statuses.contains { $0.hasPrefix("degraded: ") && $0.contains("--mount-matrix 'iio:device0=") },
                "\(statuses)")
        }
    }

    @Test(
        "an attribute may be shared by the channels of a quantity, all inputs or the whole device",
        arguments: ["in_", ""])
    func sharedAttributes(prefix: String) async throws {
        try await withFakeIIO { fake in
            var attributes = [
                "name": "cros-ec-accel", prefix + "scale": "9.80665", prefix + "offset": "1",
                prefix + "mount_matrix": "0, 1, 0; 1, 0, 0; 0, 0, 1",
            ]
            for (axis, raw) in [("x", 0), ("y", 1), ("z", 2)] { attributes["in_accel_\(axis)_raw"] = "\(raw)" }
            try fake.add("iio:device0", attributes)
            try await withRunning(fake.source) { sink in
                #expect(await sink.wait { !$0.samples(.accelerometer).isEmpty })
                #expect(sink.seen.samples(.accelerometer).values(at: 0) == [-2, -1, -3])
            }
        }
    }

    /// Adds the accelerometers of a convertible: that of the base has the lower number.
    private func addConvertible(to fake: FakeIIO, _ base: [String: String], _ display: [String: String]) throws {
        try fake.addPolledAccelerometer("iio:device0", name: "kxcj9")
        try fake.add("iio:device0", base)
        try fake.addPolledAccelerometer("iio:device1", name: "kxcj9")
        try fake.add("iio:device1", display)
    }

    @Test(
        "the sensor in the display is preferred to that in the base",
        arguments: [
            (["label": "accel-base"], ["label": "accel-display"]), (["location": "base"], ["location": "lid"]),
            (["label": "accel-base"], [:]), ([:], ["label": "accel-display"]),
        ])
    func display(base: [String: String], display: [String: String]) async throws {
        try await withFakeIIO { fake in
            try addConvertible(to: fake, base, display)
            let sensors = fake.source.sensors()
            #expect(sensors.map { $0.problem == nil } == [false, true])
            #expect(sensors.map(\.label) == [base["label"], display["label"]])
            #expect(sensors.map(\.location) == [base["location"], display["location"]])
        }
    }

    @Test(
        "the user can choose a device by id, label or location",
        arguments: ["iio:device0", "accel-base", "base"])
    func chosen(name: String) async throws {
        try await withFakeIIO { fake in
            try addConvertible(to: fake, ["label": "accel-base", "location": "base"], ["label": "accel-display"])
            let source = fake.source(choices: IIOChoices(devices: [name]))
            #expect(source.sensors().map { $0.problem == nil } == [true, false])
            #expect(source.failure == nil)
            let wrong = fake.source(choices: IIOChoices(devices: ["accel-lid"]))
            #expect(
                wrong.failure?.description
                    == "no IIO device is named 'accel-lid'; --iio-device and --mount-matrix take one of: iio:device0 = kxcj9 "
                    + "= accel-base = base; iio:device1 = kxcj9 = accel-display")
        }
    }

    @Test("a device that returns with another number is not confused with one in another place")
    func placeOfReturned() async throws {
        try await withFakeIIO { fake in
            try addConvertible(to: fake, ["label": "accel-base"], ["label": "accel-display"])
            let group = try #require(IIOSelection(fake.tree.devices()).groups.first)
            #expect(group.deviceID == "iio:device1")
            // The driver is loaded again, and the numbers are exchanged.
            try fake.add("iio:device0", ["label": "accel-display"])
            try fake.add("iio:device1", ["label": "accel-base"])
            #expect(try group.find(in: fake.tree, except: []).id == "iio:device0")
        }
    }

    @Test("the mount matrix may come from udev, by the number of the node or the name of the device")
    func matrixOfUdev() async throws {
        let property = "ACCEL_MOUNT_MATRIX=0, 1, 0; 1, 0, 0; 0, 0, 1"
        for (attributes, file) in [(["dev": "243:7"], "c243:7"), ([:], "+iio:iio:device0")] {
            try await withFakeIIO { fake in
                try fake.addPolledAccelerometer()
                try fake.add("iio:device0", attributes)
                try fake.add("iio:device0", ["in_accel_mount_matrix": "1, 0, 0; 0, 1, 0; 0, 0, 1"])
                try fake.addUdev(file, "I:42\nE:ID_BUS=pci\nE:\(property)\nE:ACCEL_LOCATION=base\nG:systemd\n")
                let sensor = try #require(fake.source.sensors().first)
                #expect(sensor.mountMatrix == [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
                #expect(sensor.location == "base")
            }
        }
    }

    @Test("udev's matrix of the accelerometer holds for a gyroscope of the same chip that has none of its own")
    func matrixOfChip() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(
                ["accel", "anglvel", "magn"], more: ["in_magn_mount_matrix": "1, 0, 0; 0, 1, 0; 0, 0, 1"])
            try fake.addUdev("+iio:iio:device0", "E:ACCEL_MOUNT_MATRIX=0, 1, 0; 1, 0, 0; 0, 0, 1\n")
            let turned: [[Double]] = [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
            #expect(
                fake.source.sensors().map(\.mountMatrix) == [turned, turned, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]])
        }
    }

    @Test("the user's mount matrix replaces all others, for one device or for all")
    func matrixOfUser() async throws {
        try await withFakeIIO { fake in
            try addConvertible(to: fake, ["label": "accel-base"], ["label": "accel-display"])
            try fake.add("iio:device0", ["mount_matrix": "0, 0, 0; 0, 0, 0; 0, 0, 0"])
            let choices = IIOChoices(
                mountMatrices: try ["accel-base=0 1 0; 1 0 0; 0 0 1", "-1, 0, 0; 0, -1, 0; 0, 0, 1"].map(
                    IIOMountMatrix.init))
            let sensors = fake.source(choices: choices).sensors()
            #expect(
                sensors.map(\.mountMatrix) == [
                    [[0, 1, 0], [1, 0, 0], [0, 0, 1]], [[-1, 0, 0], [0, -1, 0], [0, 0, 1]],
                ])
            #expect(sensors.allSatisfy { $0.warning == nil })
            #expect(throws: IIOError.self) { _ = try IIOMountMatrix("accel-base=0 0 0; 0 0 0; 0 0 0") }
        }
    }

    @Test("the mount matrix of a quantity takes precedence over that of the device")
    func matrices() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(
                ["accel", "anglvel"],
                more: [
                    "in_accel_mount_matrix": "0, 1, 0; 1, 0, 0; 0, 0, 1", "mount_matrix": "1, 0, 0; 0, 1, 0; 0, 0, 1",
                ])
            let matrices = fake.source.sensors().map(\.mountMatrix)
            #expect(matrices == [[[0, 1, 0], [1, 0, 0], [0, 0, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]])
        }
    }

    @Test("a missing scale and a missing axis are reported as problems")
    func incomplete() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            try fake.remove("iio:device0", "in_accel_scale")
            let scale = fake.source.sensors().first?.problem ?? ""
            #expect(scale.hasSuffix("/in_accel_scale is missing or 0, so the unit of its counts is unknown"))
            try fake.add("iio:device0", ["in_accel_scale": "one"])
            let words = fake.source.sensors().first?.problem ?? ""
            #expect(words.hasSuffix("/in_accel_scale: 'one' is not a number"))
            try fake.remove("iio:device0", "in_accel_z_raw")
            #expect(fake.source.sensors().first?.problem == "iio:device0: some of the sensor's channels are missing")
            let failure = fake.source.failure?.description
            #expect(
                failure
                    == "no IIO sensor can be used: motion/accelerometer of lis3dh: iio:device0: "
                    + "some of the sensor's channels are missing")
        }
    }

    @Test("scale and offset may differ for each axis")
    func perAxis() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            try fake.add(
                "iio:device0", ["in_accel_x_scale": "9.80665", "in_accel_offset": "1", "in_accel_z_offset": "-10"])
            let conversion = fake.tree.devices()[0].sensors[0].conversion
            #expect(conversion.values(of: SIMD3(1, 1, 10)) == [-2, -0.2, 0])
        }
    }

    @Test("a buffer without trigger is not used, which is reported")
    func noTrigger() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"], more: ["trigger/current_trigger": ""])
            _ = try fake.makeNode("iio:device0")
            let reason = "the buffer has no trigger; create one (iio-trig-hrtimer) for exact times"
            #expect(fake.source.sensors().map(\.access) == ["polled: \(reason)"])
            try fake.add("trigger0", ["name": "sysfstrig0"])
            #expect(fake.source.sensors().map(\.access) == ["buffered, \(fake.dev)/iio:device0"])
        }
    }

    @Test("the device's own trigger is tried first, another device's trigger last")
    func triggers() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"], more: ["trigger/current_trigger": ""])
            _ = try fake.makeNode("iio:device0")
            for (number, name) in ["other-dev1", "timer", "bmi160-dev0"].enumerated() {
                try fake.add("trigger\(number)", ["name": name])
            }
            let access = fake.tree.devices()[0].sensors[0].access
            guard case .buffered(_, let triggers) = access else {
                Issue.record("\(access)")
                return
            }
            #expect(triggers == ["bmi160-dev0", "timer", "other-dev1"])
        }
    }

    @Test("a buffer without its character device is not used")
    func noNode() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            #expect(
                fake.source.sensors().map(\.access) == ["polled: \(fake.dev)/iio:device0: No such file or directory"])
        }
    }

    @Test(
        "a missing permission is reported with the file", .disabled(if: geteuid() == 0, "root can read every file"))
    func permission() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            let file = "\(fake.sysfs)/bus/iio/devices/iio:device0/in_accel_y_raw"
            chmod(file, 0)
            let problem = fake.source.sensors().first?.problem ?? ""
            #expect(problem.hasPrefix("iio:device0: \(file): Permission denied: add the udev rule"))
        }
    }

    @Test("without any sensor the error states the folder, the attributes and advice")
    func nothing() async throws {
        try await withFakeIIO { fake in
            try fake.add("iio:device0", ["name": "adc", "in_voltage0_raw": "5"])
            let source = fake.source
            #expect(source.sensors().isEmpty && source.streams.isEmpty)
            let error = try await #require(throws: IIOError.self) { try await source.run(into: RecordingSink()) }
            #expect(
                error.description
                    == "no IIO sensor: no device in \(fake.sysfs)/bus/iio/devices is an accelerometer, gyroscope, "
                    + "magnetometer, barometer or step counter (in_accel_*, in_anglvel_*, in_magn_*, in_pressure_*, "
                    + "in_steps_input); load the driver of the sensor (modprobe, a device tree overlay)")
        }
        let nowhere = IIOSource(sysfsRoot: "/nowhere", devRoot: "/dev")
        #expect(
            nowhere.failure?.description
                == "no IIO sensor: the folder /nowhere/bus/iio/devices does not exist, so no IIO driver is loaded; load the "
                + "driver of the sensor (modprobe, a device tree overlay), or set other roots with --sysfs-root and "
                + "--dev-root")
    }
}
