package import LockstepModel

/// Which device gives which stream, as a value: of several that give one, the first that can be used.
package struct IIOSelection: Sendable {
    /// What is to be read.
    package private(set) var parts: [IIOChannelGroup] = []
    /// All sensors that were found, and why those that aren't read aren't.
    package private(set) var descriptions: [SensorDescription] = []
    /// The streams that there are.
    package private(set) var streams: [SensorStream] = []
    /// Samples a second that each goes by itself; none for one with a pace of its own.
    package private(set) var nativeRates: [SensorStream: Double] = [:]

    /// All devices that were looked at, also those of which nothing is read.
    package let deviceIDs: Set<String>

    private var providers: [SensorStream: String] = [:]

    package init(_ devices: [IIODevice]) {
        deviceIDs = Set(devices.map(\.id))
        for device in devices { take(device) }
    }

    private mutating func take(_ device: IIODevice) {
        var streams: [IIOChannelGroup.Kind: [SensorStream]] = [:]
        for sensor in device.sensors {
            let kind: IIOChannelGroup.Kind = sensor.access.isBuffered ? .buffered : .polled
            if add(sensor.description(in: device), of: device) {
                streams[kind, default: []].append(sensor.quantity.stream)
                nativeRates[sensor.quantity.stream] = sensor.nativeRate
            }
        }
        if let counter = device.stepCounter {
            let description = SensorDescription(
                name: device.name, stream: .steps, access: "polled", problem: counter.problem)
            if add(description, of: device) { streams[.steps] = [.steps] }
        }
        for kind in [IIOChannelGroup.Kind.buffered, .polled, .steps] {
            guard let streams = streams[kind] else { continue }
            parts.append(
                IIOChannelGroup(
                    deviceID: device.id, deviceName: device.name, kind: kind, streams: streams,
                    nativeRates: nativeRates.filter { streams.contains($0.key) }))
        }
    }

    /// - Returns: whether the sensor is to be read.
    private mutating func add(_ found: SensorDescription, of device: IIODevice) -> Bool {
        var description = found
        defer { descriptions.append(description) }
        guard description.problem == nil else { return false }
        if let provider = providers[description.stream] {
            description.problem = "not used: \(provider) gives \(description.stream) already"
            return false
        }
        providers[description.stream] = device.id
        streams.append(description.stream)
        return true
    }

    /// Why there is nothing to read; nil where there is something.
    package func failure(in tree: IIOTree) -> IIOError? {
        guard parts.isEmpty else { return nil }
        guard !descriptions.isEmpty else { return tree.nothingFound }
        let problems = descriptions.map { "\($0.stream) of \($0.name): \($0.problem ?? "")" }
        return IIOError("no IIO sensor can be used: \(problems.joined(separator: "; "))")
    }
}

extension IIOSensor {
    /// Samples a second that it goes by unless told otherwise.
    var nativeRate: Double? { access.isBuffered ? rate?.own : PolledSession.defaultRate }

    func description(in device: IIODevice) -> SensorDescription {
        var description = SensorDescription(
            name: device.name, stream: quantity.stream, mountMatrix: conversion.mount?.numbers,
            problem: problem.map { "\(device.id): \($0)" })
        switch access {
        case .buffered:
            description.access = "buffered, \(device.node)"
            description.rates = rate?.available?.bounds ?? rate?.current.map { $0...$0 }
        case .polled(_, let note):
            description.access = note.map { "polled: \($0)" } ?? "polled"
            description.rates = PolledSession.minRate...PolledSession.maxRate
        }
        return description
    }
}

extension IIODevice {
    /// The sensors of `wanted` that can be polled as well.
    func polling(_ wanted: [SensorStream: Double], because error: IIOError) throws(IIOError) -> [IIOSensor] {
        var sensors: [IIOSensor] = []
        for sensor in self.sensors where wanted[sensor.quantity.stream] != nil && sensor.problem == nil {
            let files = AxisFiles(folder, sensor.quantity)
            // Its conversion is that of counts, which is what raw values are.
            guard files.isComplete, !files.isProcessed else { throw error }
            sensors.append(sensor.with(access: .polled(files: files.files, note: error.description)))
        }
        return sensors
    }
}
