package import LockstepModel

/// The assignment of streams to devices, as a value. The first usable device provides a stream: those chosen by the user,
/// then those in the display, then the others, and those in the base last.
package struct IIOSelection: Sendable {
    package private(set) var groups: [IIOChannelGroup] = []
    /// The descriptions of all sensors found. The problem of an unused sensor is the reason why it is not used.
    package private(set) var descriptions: [SensorDescription] = []
    package private(set) var streams: [SensorStream] = []
    /// The native rates in samples/s; streams with a fixed rate are not contained.
    package private(set) var nativeRates: [SensorStream: Double] = [:]

    /// The names of all devices found, including unused ones, by id.
    private let deviceNames: [String: String]

    /// The ids of the devices that provide each stream.
    private var providers: [SensorStream: String] = [:]

    /// - Parameter chosen: The names of the devices that the user prefers, best first.
    package init(_ devices: [IIODevice], chosen: [String] = []) {
        deviceNames = Dictionary(devices.map { ($0.id, $0.name) }) { first, _ in first }
        // Devices of one rank keep the order of their numbers.
        let ranked = devices.enumerated().map { number, device in
            (device, chosen.firstIndex(where: device.isNamed) ?? chosen.count, device.placement.rank, number)
        }.sorted { ($0.1, $0.2, $0.3) < ($1.1, $1.2, $1.3) }.map(\.0)
        assign(ranked.filter { device in chosen.contains(where: device.isNamed) }, \.usableStreams)
        assign(ranked, \.soundStreams)
        assign(ranked, \.usableStreams)
        // A stream whose sensors all lack access rights gets its sensor too, because udev may still grant them. Without
        // any usable sensor the source fails, with advice.
        if !providers.isEmpty { assign(ranked, \.blockedStreams) }
        for device in devices { add(device) }
    }

    /// Makes devices the providers of streams that have none.
    private mutating func assign(_ devices: [IIODevice], _ streams: (IIODevice) -> [SensorStream]) {
        for device in devices {
            for stream in streams(device) where providers[stream] == nil { providers[stream] = device.id }
        }
    }

    private mutating func add(_ device: IIODevice) {
        var kinds: [IIOChannelGroup.Kind] = []
        var streams: [IIOChannelGroup.Kind: [SensorStream]] = [:]
        var resolvedRates: [SensorStream: Double] = [:]
        func assign(_ stream: SensorStream, to kind: IIOChannelGroup.Kind) {
            if streams[kind] == nil { kinds.append(kind) }
            streams[kind, default: []].append(stream)
        }
        for sensor in device.sensors {
            let stream = sensor.quantity.stream
            guard add(sensor.description(in: device), of: device) else { continue }
            // Grouped by the buffer that the sensor may get later, because a session reads at most one buffer.
            let buffer = sensor.access.buffer ?? sensor.access.blockedBuffer
            assign(stream, to: buffer.map { .buffered($0.index) } ?? .polled)
            nativeRates[stream] = sensor.nativeRate
            resolvedRates[stream] = buffer == nil ? sensor.nativeRate : sensor.nativeScanRate
        }
        if let counter = device.stepCounter {
            let description = SensorDescription(
                name: device.name, label: device.placement.label, location: device.placement.location, stream: .steps,
                access: "polled", problem: counter.problem)
            if add(description, of: device) { assign(.steps, to: .steps) }
        }
        for kind in kinds {
            let streams = streams[kind] ?? []
            groups.append(
                IIOChannelGroup(
                    deviceID: device.id, deviceName: device.name, placement: device.placement, kind: kind,
                    streams: streams,
                    nativeRates: resolvedRates.filter { streams.contains($0.key) }))
        }
    }

    /// Adds a description, and the stream if the device provides it.
    /// - Returns: Whether the sensor is used.
    private mutating func add(_ found: SensorDescription, of device: IIODevice) -> Bool {
        var description = found
        defer { descriptions.append(description) }
        let isProvider = providers[description.stream] == device.id
        if isProvider { streams.append(description.stream) }
        if !isProvider, description.problem == nil, let provider = providers[description.stream] {
            description.problem = "not used: \(provider) already provides \(description.stream)"
        }
        return isProvider
    }

    /// Returns the ids of the other devices with the name of a group's device, which are never its replacement. A device
    /// with another name is no reason to avoid its id, because the kernel gives the ids of removed devices to new ones.
    package func others(than group: IIOChannelGroup) -> Set<String> {
        Set(deviceNames.filter { $0.value == group.deviceName && $0.key != group.deviceID }.keys)
    }

    /// Returns the reason why no sensor can be read; nil if at least one can.
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
        access.buffer == nil ? quantity.defaultPollingRate : nativeScanRate
    }

    /// The rate in samples/s of the sensor's buffer when none is requested; nil if unknown.
    var nativeScanRate: Double? { rate?.native(default: quantity.defaultRate) }

    func description(in device: IIODevice) -> SensorDescription {
        var description = SensorDescription(
            name: device.name, label: device.placement.label, location: device.placement.location,
            stream: quantity.stream, mountMatrix: conversion.mount?.numbers,
            problem: problem.map { "\(device.id): \($0)" }, warning: warning.map { "\(device.id): \($0)" })
        switch access {
        case .buffered(let buffer, _):
            description.access = "buffered, \(device.node)" + (buffer.index > 0 ? ", buffer \(buffer.index)" : "")
            description.rates = rate?.available?.bounds ?? rate?.current.map { $0...$0 }
            // Without a list of its rates, a sensor is set to any requested rate.
            description.mayExceedRates = rate != nil && rate?.available == nil
        case .polled(_, let note, let blocked):
            description.access = note.map { "polled: \($0)" } ?? "polled"
            description.rates = PolledSession.minRate...PolledSession.maxRate
            // The buffer may become readable while the sensor runs.
            description.mayExceedRates = blocked != nil
        }
        return description
    }
}

extension IIODevice {
    /// Returns the requested sensors with polled instead of buffered access.
    /// - Parameter error: The reason why the buffer is not used.
    /// - Throws: `error` if one of the sensors cannot be polled.
    func polling(_ requested: [SensorStream: Double], because error: IIOError) throws(IIOError) -> [IIOSensor] {
        var sensors: [IIOSensor] = []
        for sensor in self.sensors where requested[sensor.quantity.stream] != nil && sensor.problem == nil {
            let files = ChannelFiles(folder, sensor.quantity)
            // Processed values cannot be used: the sensor's conversion is for raw counts.
            guard files.isComplete, !files.isProcessed else { throw error }
            sensors.append(
                sensor.with(
                    access: .polled(files: files.files, note: error.description, blocked: sensor.access.buffer)))
        }
        return sensors
    }
}
