import Glibc

/// Reads one device's folder.
struct DeviceReader {
    let id: String
    let folder: AttributeFolder
    let node: String
    let triggers: [(name: String, folder: AttributeFolder)]

    /// The device; nil where it measures nothing that we know.
    func device() -> IIODevice? {
        let sensors = IIOQuantity.allCases.compactMap(sensor)
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

    private func sensor(_ quantity: IIOQuantity) -> IIOSensor? {
        let single = AxisFiles(folder, quantity)
        let scan = ScanFiles(folder, quantity)
        guard single.isAny || scan.isAny else { return nil }
        var problem: String?
        if !single.isComplete, !scan.isComplete { problem = "it does not measure along three axes" }

        let access = access(single, scan, problem: &problem)
        var conversion = UnitConversion(scale: .one, offset: .zero, mount: nil, factor: quantity.factor)
        do throws(IIOError) {
            conversion = try self.conversion(quantity, isProcessed: !access.isBuffered && single.isProcessed)
        } catch {
            problem = problem ?? error.description
        }
        return IIOSensor(
            quantity: quantity, conversion: conversion, rate: rateControl(quantity, access), access: access,
            range: single.isProcessed && !access.isBuffered ? nil : scan.type?.range, problem: problem)
    }

    /// Buffered where everything for it is there, polled otherwise.
    private func access(_ single: AxisFiles, _ scan: ScanFiles, problem: inout String?) -> IIOAccess {
        var note: String?
        if scan.isComplete, folder.contains("buffer/enable") {
            let candidates = triggerCandidates
            let refusal = nodeRefusal ?? folder.refusal("buffer/enable", W_OK)
            if candidates?.isEmpty == true {
                note = "it has no trigger for its buffer; create one (iio-trig-hrtimer) for exact times"
            } else if let refusal {
                note = refusal.description
            } else {
                return .buffered(triggers: candidates ?? [])
            }
        }
        if !single.isComplete {
            problem = problem ?? note ?? "its buffer is not whole, and it has no attributes to poll"
        } else if let refusal = single.files.lazy.compactMap({ folder.refusal($0, R_OK) }).first {
            problem = problem ?? refusal.description
        }
        return .polled(files: single.files, note: note)
    }

    private var nodeRefusal: IIOError? { Glibc.access(node, R_OK) == 0 ? nil : IIOError(path: node, errno: errno) }

    /// Triggers in the order to try them; nil where the device needs none.
    private var triggerCandidates: [String]? {
        guard folder.contains("trigger/current_trigger") else { return nil }
        if let current = folder.text("trigger/current_trigger"), !current.isEmpty { return [current] }
        let names = triggers.map(\.name)
        let number = id.dropFirst("iio:device".count)
        let own = "\(name)-dev\(number)"
        // That of another device is the last choice: few drivers take it, and it fires at the other's pace.
        func place(_ name: String) -> Int { name == own ? 0 : name.contains("-dev") ? 2 : 1 }
        return (0...2).flatMap { wanted in names.filter { place($0) == wanted } }
    }

    private func conversion(_ quantity: IIOQuantity, isProcessed: Bool) throws(IIOError) -> UnitConversion {
        let mount = try mountMatrix(quantity)
        if isProcessed {
            return UnitConversion(
                scale: .one, offset: .zero, mount: mount, factor: quantity.factor, isProcessed: true)
        }
        var scale = SIMD3<Double>.zero
        var offset = SIMD3<Double>.zero
        for axis in 0..<3 {
            guard let found = try number("scale", quantity, axis), found != 0 else {
                throw IIOError("\(folder[quantity.prefix + "_scale"]) is missing or 0: without it a count has no unit")
            }
            scale[axis] = found
            offset[axis] = try number("offset", quantity, axis) ?? 0
        }
        return UnitConversion(scale: scale, offset: offset, mount: mount, factor: quantity.factor)
    }

    /// The attribute `kind` of an axis, or that of all axes.
    private func number(_ kind: String, _ quantity: IIOQuantity, _ axis: Int) throws(IIOError) -> Double? {
        for file in ["\(quantity.prefix(axis: axis))_\(kind)", "\(quantity.prefix)_\(kind)"] {
            if folder.contains(file) { return try AttributeFile(folder[file]).number() }
        }
        return nil
    }

    private func mountMatrix(_ quantity: IIOQuantity) throws(IIOError) -> MountMatrix? {
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
        // A timer that triggers has the rate that the device has not.
        if case .buffered(let names) = access, let name = names.first,
            let trigger = triggers.first(where: { $0.name == name })?.folder, trigger.contains("sampling_frequency")
        {
            return RateControl(
                folder: trigger, file: "sampling_frequency",
                available: trigger.text("sampling_frequency_available").flatMap { SamplingRates($0) })
        }
        return nil
    }
}
