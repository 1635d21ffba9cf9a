extension FakeIIO {
    /// The attributes that each device of a HID sensor hub has, as Linux 6.1 shows them: values of 16 bits in 32, a
    /// trigger of its own without a rate, one rate for all channels without a list of choices, and the folders of its
    /// only buffer both under the old and the new names.
    private func hubDevice(
        _ id: String, name: String, quantity: String, scale: String, raw: [Int], isTimed: Bool
    ) -> [String: String] {
        var attributes = [
            "name": name, "in_\(quantity)_scale": scale, "in_\(quantity)_offset": "0",
            "in_\(quantity)_hysteresis": "0.000000", "in_\(quantity)_sampling_frequency": "20.000000",
            "trigger/current_trigger": "\(name)-dev\(id.dropFirst("iio:device".count))",
        ]
        var elements: [(name: String, index: Int, type: String)] = []
        for (axis, letter) in ["x", "y", "z"].enumerated() {
            attributes["in_\(quantity)_\(letter)_raw"] = "\(raw[axis])"
            elements.append(("in_\(quantity)_\(letter)", axis, "le:s16/32>>0"))
        }
        if isTimed {
            attributes["current_timestamp_clock"] = "realtime"
            elements.append(("in_timestamp", 3, "le:s64/64>>0"))
        }
        for folder in ["buffer", "buffer0"] {
            for (name, text) in ["enable": "0", "length": "2", "watermark": "1", "data_available": "0"] {
                attributes["\(folder)/\(name)"] = text
            }
        }
        for folder in ["scan_elements", "buffer0"] {
            for element in elements {
                attributes["\(folder)/\(element.name)_en"] = "0"
                attributes["\(folder)/\(element.name)_index"] = "\(element.index)"
                attributes["\(folder)/\(element.name)_type"] = element.type
            }
        }
        return attributes
    }

    /// Adds the devices of a HID sensor hub in the order of the kernel: an accelerometer, a gyroscope, a magnetometer,
    /// whose scans have no timestamp, and an orientation sensor, which Lockstep does not read.
    func addSensorHub() throws {
        try add(
            "iio:device0",
            hubDevice(
                "iio:device0", name: "accel_3d", quantity: "accel", scale: "0.009806650", raw: [100, -200, -950],
                isTimed: true))
        try add(
            "iio:device1",
            hubDevice(
                "iio:device1", name: "gyro_3d", quantity: "anglvel", scale: "0.000174532", raw: [9000, -4500, 3000],
                isTimed: true))
        try add(
            "iio:device2",
            hubDevice(
                "iio:device2", name: "magn_3d", quantity: "magn", scale: "0.000100000", raw: [2000, -500, -4000],
                isTimed: false))
        try add(
            "iio:device3",
            [
                "name": "dev_rotation", "in_rot_quaternion_raw": "0 0 7071 7071", "in_rot_scale": "0.000100000",
                "in_rot_offset": "0", "in_rot_hysteresis": "0.000000", "in_rot_sampling_frequency": "20.000000",
                "current_timestamp_clock": "realtime", "trigger/current_trigger": "dev_rotation-dev3",
                "buffer/enable": "0", "buffer/length": "2", "buffer/watermark": "1",
                "scan_elements/in_rot_quaternion_en": "0", "scan_elements/in_rot_quaternion_index": "0",
                "scan_elements/in_rot_quaternion_type": "le:s16/32X4>>0",
            ])
        for (number, name) in ["accel_3d", "gyro_3d", "magn_3d", "dev_rotation"].enumerated() {
            try add("trigger\(number)", ["name": "\(name)-dev\(number)"])
        }
    }
}
