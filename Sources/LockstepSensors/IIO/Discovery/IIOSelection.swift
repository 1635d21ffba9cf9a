package import LockstepModel

/// The assignment of streams to devices, as a value: the first usable device provides a stream.
package struct IIOSelection: Sendable {
    /// The channel groups to read.
    package private(set) var groups: [IIOChannelGroup] = []
    /// All sensors found. For an unused sensor, `problem` is the reason.
    package private(set) var descriptions: [SensorDescription] = []
    /// The available streams.
    package private(set) var streams: [SensorStream] = []
    /// The native rates in samples/s; streams with a fixed rate are missing.
    package private(set) var nativeRates: [SensorStream: Double] = [:]

    /// The ids of all devices found, including unused ones.
    package let deviceIDs: Set<String>

    private var providers: [SensorStream: String] = [:]

    package init(_ devices: [IIODevice]) {
        deviceIDs = Set(devices.map(\.id))
        for device in devices { add(device) }
    }

    private mutating func add(_ device: IIODevice) {
        var kinds: [IIOChannelGroup.Kind] = []
        var streams: [IIOChannelGroup.Kind: [SensorStream]] = [:]
        func assign(_ stream: SensorStream, to kind: IIOChannelGroup.Kind) {
            if streams[kind] == nil { kinds.append(kind) }
            streams[kind, default: []].append(stream)
        }
        for sensor in device.sensors {
            let stream = sensor.quantity.stream
            guard add(sensor.description(in: device), of: device) else { continue }
            assign(stream, to: sensor.access.buffer.map { .buffered($0.index) } ?? .polled)
            nativeRates[stream] = sensor.nativeRate
        }
        if let counter = device.stepCounter {
            let description = SensorDescription(
                name: device.name, stream: .steps, access: "polled", problem: counter.problem)
            if add(description, of: device) { assign(.steps, to: .steps) }
        }
        for kind in kinds {
            let streams = streams[kind] ?? []
            groups.append(
                IIOChannelGroup(
                    deviceID: device.id, deviceName: device.name, kind: kind, streams: streams,
                    nativeRates: nativeRates.filter { streams.contains($0.key) }))
        }
    }

    /// - Returns: Whether the sensor is to be read.
    private mutating func add(_ found: SensorDescription, of device: IIODevice) -> Bool {
        var description = found
        defer { descriptions.append(description) }
        guard description.problem == nil else { return false }
        if let provider = providers[description.stream] {
            description.problem = "not used: \(provider) already provides \(description.stream)"
            return false
        }
        providers[description.stream] = device.id
        streams.append(description.stream)
        return true
    }

    /// Returns why nothing can be read; nil if something can.
    package func failure(in tree: IIOTree) -> IIOError? {
        guard groups.isEmpty else { return nil }
        guard !descriptions.isEmpty else { return tree.nothingFound }
        let problems = descriptions.map { "\($0.stream) of \($0.name): \($0.problem ?? "")" }
        return IIOError("no IIO sensor can be used: \(problems.joined(separator: "; "))")
    }
}

extension IIOSensor {
    /// The rate in samples/s when none is requested; nil if unknown.
    var nativeRate: Double? {
        access.buffer == nil ? quantity.defaultPollingRate : rate?.native(default: quantity.defaultRate)
    }

    /// Returns the description for users.
    func description(in device: IIODevice) -> SensorDescription {
        var description = SensorDescription(
            name: device.name, stream: quantity.stream, mountMatrix: conversion.mount?.numbers,
            problem: problem.map { "\(device.id): \($0)" })
        switch access {
        case .buffered(let buffer, _):
            description.access = "buffered, \(device.node)" + (buffer.index > 0 ? ", buffer \(buffer.index)" : "")
            description.rates = rate?.available?.bounds ?? rate?.current.map { $0...$0 }
        case .polled(_, let note):
            description.access = note.map { "polled: \($0)" } ?? "polled"
            description.rates = PolledSession.minRate...PolledSession.maxRate
        }
        return description
    }
}

extension IIODevice {
    /// Returns the requested sensors with polling in place of their buffer.
    /// - Throws: `error`, if one of them cannot be polled.
    func polling(_ requested: [SensorStream: Double], because error: IIOError) throws(IIOError) -> [IIOSensor] {
        var sensors: [IIOSensor] = []
        for sensor in self.sensors where requested[sensor.quantity.stream] != nil && sensor.problem == nil {
            let files = ChannelFiles(folder, sensor.quantity)
            // The conversion is that of raw counts.
            guard files.isComplete, !files.isProcessed else { throw error }
            sensors.append(sensor.with(access: .polled(files: files.files, note: error.description)))
        }
        return sensors
    }
}
