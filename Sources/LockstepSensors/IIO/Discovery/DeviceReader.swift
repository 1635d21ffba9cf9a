import Glibc

/// Reads the description of one device from its folder in sysfs.
struct DeviceReader {
    /// The name in sysfs, such as `iio:device0`.
    let id: String
    let folder: AttributeFolder
    /// The path of the character device.
    let node: String
    let triggers: [(name: String, folder: AttributeFolder)]
    let udev: UdevProperties
    /// The mount matrices that the user has chosen.
    let matrices: [IIOMountMatrix]

    /// Returns the device, or nil if it has no sensor of a known kind.
    func device() -> IIODevice? {
        let buffers = IIOBuffer.all(of: folder)
        let sensors = IIOQuantity.allCases.compactMap { sensor($0, buffers) }
        let counter = stepCounter()
        guard !sensors.isEmpty || counter != nil else { return nil }
        return IIODevice(
            id: id, name: name, placement: placement, folder: folder, node: node, sensors: sensors,
            stepCounter: counter)
    }

    private var name: String {
        [folder.text("name"), folder.text("label")].compactMap { $0 }.first { !$0.isEmpty } ?? id
    }

    private var placement: IIOPlacement { IIOPlacement(folder, udev) }

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
        let (mount, warning) = mount(quantity)
        var conversion = UnitConversion(
            scale: .one, offset: .zero, mount: mount, factor: factor(of: quantity),
            channelCount: quantity.channels.count)
        do throws(IIOError) {
            conversion = try self.conversion(quantity, mount, isProcessed: !isBuffered && single.isProcessed)
        } catch {
            problem = problem ?? error
        }
        let type = (scan ?? scans.first(where: \.elements.hasAnyChannel))?.elements.type
        return IIOSensor(
            quantity: quantity, conversion: conversion, rate: rateControl(quantity, access), access: access,
            range: single.isProcessed && !isBuffered ? nil : type?.range, problem: problem?.description,
            warning: warning,
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

    private func conversion(
        _ quantity: IIOQuantity, _ mount: MountMatrix?, isProcessed: Bool
    ) throws(IIOError) -> UnitConversion {
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

    /// Returns the attribute `kind` of a channel, or the one that it shares; nil if there is neither.
    private func number(_ kind: String, _ quantity: IIOQuantity, _ channel: String) throws(IIOError) -> Double? {
        for file in ["in_\(channel)_\(kind)"] + Self.sharedFiles(kind, quantity) where folder.contains(file) {
            return try AttributeFile(folder[file]).number()
        }
        return nil
    }

    /// Returns the names of an attribute that channels share, in the order of precedence: all of a quantity, all inputs
    /// and all channels of a device.
    private static func sharedFiles(_ kind: String, _ quantity: IIOQuantity) -> [String] {
        ["\(quantity.prefix)_\(kind)", "in_\(kind)", kind]
    }

    /// Returns the mount matrix, and the warning if the one of the system cannot be used.
    private func mount(_ quantity: IIOQuantity) -> (matrix: MountMatrix?, warning: String?) {
        // A scalar quantity such as pressure has no direction to rotate.
        guard quantity.channels.count == 3 else { return (nil, nil) }
        let names = [id, name] + [placement.label, placement.location].compactMap { $0 }
        let chosen =
            matrices.last { $0.device.map(names.contains) ?? false } ?? matrices.last { $0.device == nil }
        if let chosen { return (chosen.matrix, nil) }
        guard let (source, text) = mountMatrixText(quantity) else { return (nil, nil) }
        do throws(IIOError) {
            return (try MountMatrix(text), nil)
        } catch {
            return (nil, "\(source) \(error), as in --mount-matrix '\(id)=1 0 0; 0 1 0; 0 0 1'; used without one")
        }
    }

    /// Returns the mount matrix of the system as text, and its source.
    ///
    /// udev states that of the accelerometer, and corrects the firmware. It holds for all sensors of the chip that have
    /// none of their own.
    private func mountMatrixText(_ quantity: IIOQuantity) -> (source: String, text: String)? {
        let property = "ACCEL_MOUNT_MATRIX"
        let files = Self.sharedFiles("mount_matrix", quantity).map { file in (file, folder.text(file)) }
        let fromUdev = ("udev's \(property)", udev[property])
        let texts = quantity == .acceleration ? [fromUdev] + files : [files[0], fromUdev] + files.dropFirst()
        return texts.lazy.compactMap { source, text in text.map { (source, $0) } }.first
    }

    private func rateControl(_ quantity: IIOQuantity, _ access: IIOAccess) -> RateControl? {
        for file in Self.sharedFiles("sampling_frequency", quantity) where folder.contains(file) {
            let texts = [file, "sampling_frequency"].compactMap { folder.text($0 + "_available") }
            return RateControl(
                folder: folder, file: file, available: texts.lazy.compactMap { SamplingRates($0) }.first)
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
