import Glibc

/// Reads the description of one device from its folder in sysfs.
struct DeviceReader {
    /// The name in sysfs, such as `iio:device0`.
    let id: String
    /// The folder in sysfs.
    let folder: AttributeFolder
    /// The path of the character device.
    let node: String
    /// The names and folders of all triggers.
    let triggers: [(name: String, folder: AttributeFolder)]

    /// Returns the device, or nil if it has no sensor of a known kind.
    func device() -> IIODevice? {
        let buffers = IIOBuffer.all(of: folder)
        let sensors = IIOQuantity.allCases.compactMap { sensor($0, buffers) }
        let counter = stepCounter()
        guard !sensors.isEmpty || counter != nil else { return nil }
        return IIODevice(
            id: id, name: name, folder: folder, node: node, sensors: sensors, stepCounter: counter)
    }

    private var name: String {
        [folder.text("name"), folder.text("label")].compactMap { $0 }.first { !$0.isEmpty } ?? id
    }

    private func stepCounter() -> IIOStepCounter? {
        guard folder.contains("in_steps_input") else { return nil }
        return IIOStepCounter(problem: folder.refusal("in_steps_input", R_OK)?.description)
    }

    private func sensor(_ quantity: IIOQuantity, _ buffers: [IIOBuffer]) -> IIOSensor? {
        let single = ChannelFiles(folder, quantity)
        let scans = buffers.map { (buffer: $0, elements: ScanElements($0.elements, quantity)) }
        guard single.hasAnyChannel || scans.contains(where: \.elements.hasAnyChannel) else { return nil }
        let scan = scans.first(where: \.elements.isComplete)
        let (access, refusal) = access(single, scan?.buffer)
        var problem = refusal
        if !single.isComplete, scan == nil { problem = IIOError("some of the sensor's channels are missing") }
        let isBuffered = access.buffer != nil
        var conversion = UnitConversion(
            scale: .one, offset: .zero, mount: nil, factor: factor(of: quantity), channelCount: quantity.channels.count)
        do throws(IIOError) {
            conversion = try self.conversion(quantity, isProcessed: !isBuffered && single.isProcessed)
        } catch {
            problem = problem ?? error
        }
        let type = (scan ?? scans.first(where: \.elements.hasAnyChannel))?.elements.type
        return IIOSensor(
            quantity: quantity, conversion: conversion, rate: rateControl(quantity, access), access: access,
            range: single.isProcessed && !isBuffered ? nil : type?.range, problem: problem?.description,
            awaitsAccess: problem?.isAccessProblem ?? false)
    }

    /// Returns buffered access if a buffer, its trigger and the permissions are available, otherwise polled access; and
    /// the problem if the sensor cannot be polled either.
    private func access(_ single: ChannelFiles, _ buffer: IIOBuffer?) -> (IIOAccess, problem: IIOError?) {
        var obstacle: IIOError?
        if let buffer, buffer.isUsable {
            let candidates = triggerCandidates
            let refusal = nodeRefusal ?? buffer.controls.refusal("enable", W_OK)
            if candidates?.isEmpty == true {
                obstacle = IIOError(
                    "the buffer has no trigger; create one (iio-trig-hrtimer) for exact times", isAccessProblem: true)
            } else if let refusal {
                // Also if the node does not exist yet.
                obstacle = IIOError(refusal.description, isAccessProblem: true)
            } else {
                return (.buffered(buffer, triggers: candidates ?? []), nil)
            }
        }
        let access = IIOAccess.polled(
            files: single.files, note: obstacle?.description, blocked: obstacle == nil ? nil : buffer)
        guard single.isComplete else {
            let problem = "the sensor's buffer is incomplete, and there are no attributes to poll"
            return (access, obstacle ?? IIOError(problem))
        }
        return (access, single.files.lazy.compactMap { folder.refusal($0, R_OK) }.first)
    }

    private var nodeRefusal: IIOError? { Glibc.access(node, R_OK) == 0 ? nil : IIOError(path: node, errno: errno) }

    /// The triggers in the order to try them; nil if the device needs none.
    private var triggerCandidates: [String]? {
        guard folder.contains("trigger/current_trigger") else { return nil }
        if let current = folder.text("trigger/current_trigger"), !current.isEmpty { return [current] }
        let names = triggers.map(\.name)
        let number = id.dropFirst("iio:device".count)
        let own = "\(name)-dev\(number)"
        // Another device's trigger is the last choice: few drivers accept it, and it fires at the other device's rate.
        func priority(_ name: String) -> Int { name == own ? 0 : name.contains("-dev") ? 2 : 1 }
        return (0...2).flatMap { rank in names.filter { priority($0) == rank } }
    }

    private func conversion(_ quantity: IIOQuantity, isProcessed: Bool) throws(IIOError) -> UnitConversion {
        let mount = try mountMatrix(quantity)
        if isProcessed {
            return UnitConversion(
                scale: .one, offset: .zero, mount: mount, factor: factor(of: quantity),
                channelCount: quantity.channels.count, isProcessed: true)
        }
        var scale = SIMD3<Double>.zero
        var offset = SIMD3<Double>.zero
        for (index, channel) in quantity.channels.enumerated() {
            guard let found = try number("scale", quantity, channel), found != 0 else {
                throw IIOError(
                    "\(folder[quantity.prefix + "_scale"]) is missing or 0, so the unit of its counts is unknown")
            }
            scale[index] = found
            offset[index] = try number("offset", quantity, channel) ?? 0
        }
        return UnitConversion(
            scale: scale, offset: offset, mount: mount, factor: factor(of: quantity),
            channelCount: quantity.channels.count)
    }

    /// Returns the factor from the device's unit to Lockstep's.
    ///
    /// The accelerometer of a HID sensor hub reports -9.8 m/s² upward at rest, and the kernel's driver does not change
    /// the sign: the firmware follows Windows ("Integrating Motion and Orientation Sensors" by Microsoft), where a
    /// device at rest, face up, measures -1 g on the z axis.
    private func factor(of quantity: IIOQuantity) -> Double {
        quantity == .acceleration && folder.text("name") == Self.hubAccelerometer ? -quantity.factor : quantity.factor
    }

    /// The name that the driver `hid-sensor-accel-3d` gives to its device.
    private static let hubAccelerometer = "accel_3d"

    /// Returns the attribute `kind` of a channel, or the attribute that all channels share; nil if there is neither.
    private func number(_ kind: String, _ quantity: IIOQuantity, _ channel: String) throws(IIOError) -> Double? {
        for file in ["in_\(channel)_\(kind)", "\(quantity.prefix)_\(kind)"] {
            if folder.contains(file) { return try AttributeFile(folder[file]).number() }
        }
        return nil
    }

    private func mountMatrix(_ quantity: IIOQuantity) throws(IIOError) -> MountMatrix? {
        // A scalar quantity such as pressure has no direction to rotate.
        guard quantity.channels.count == 3 else { return nil }
        for file in ["\(quantity.prefix)_mount_matrix", "in_mount_matrix", "mount_matrix"] where folder.contains(file) {
            let text = try folder.read(file)
            do throws(IIOError) { return try MountMatrix(text) } catch { throw IIOError("\(file) \(error)") }
        }
        return nil
    }

    private func rateControl(_ quantity: IIOQuantity, _ access: IIOAccess) -> RateControl? {
        for prefix in ["\(quantity.prefix)_", ""] where folder.contains(prefix + "sampling_frequency") {
            let texts = [prefix, ""].compactMap { folder.text($0 + "sampling_frequency_available") }
            return RateControl(
                folder: folder, file: prefix + "sampling_frequency",
                available: texts.lazy.compactMap { SamplingRates($0) }.first)
        }
        // A device without its own rate attribute samples at the rate of its timer trigger.
        if case .buffered(_, let names) = access, let name = names.first,
            let trigger = triggers.first(where: { $0.name == name })?.folder, trigger.contains("sampling_frequency")
        {
            return RateControl(
                folder: trigger, file: "sampling_frequency",
                available: trigger.text("sampling_frequency_available").flatMap { SamplingRates($0) })
        }
        return nil
    }
}
