import LockstepModel

/// The derived sensors of a graph, in dependency order.
///
/// A sensor is active while its stream is demanded by a subscriber or by another active sensor.
struct DerivedSensors: Sendable {
    private struct Node: Sendable {
        var sensor: any DerivedSensor
        /// The rates of the inputs in samples/s; empty while the sensor is inactive.
        var inputs: [SensorStream: Double] = [:]
    }

    private var nodes: [Node] = []
    private let available: Set<SensorStream>

    /// - Parameters:
    ///   - sensors: Candidates, each after the sensors that it depends on. Candidates that lack a required input, or
    ///     whose stream a source provides, are excluded.
    ///   - provided: The streams of the sources.
    init(_ sensors: [any DerivedSensor], provided: Set<SensorStream>) {
        var available = provided
        for sensor in sensors where !available.contains(sensor.stream) && sensor.requiredInputs.isSubset(of: available)
        {
            nodes.append(Node(sensor: sensor))
            available.insert(sensor.stream)
        }
        self.available = available
    }

    var streams: [SensorStream] { nodes.map(\.sensor.stream) }

    /// The rates of all inputs of active sensors, in samples/s; a stream may occur more than once.
    var inputRates: [(key: SensorStream, value: Double)] { nodes.flatMap { $0.inputs.filter { $0.value > 0 } } }

    /// The statuses of the active sensors that report one, by their streams.
    private(set) var statuses: [SensorStream: SourceStatus] = [:]

    /// Activates and deactivates the sensors and sets their input rates.
    /// - Parameter demand: The fastest rate that subscribers request of each stream, in samples/s.
    /// - Returns: The pending samples of sensors that become inactive.
    @discardableResult
    mutating func setDemand(_ demand: [SensorStream: Double]) -> [SampleBlock] {
        var demand = demand
        let wasActive = nodes.map { !$0.inputs.isEmpty }
        // In reverse dependency order, so that the demand of dependent sensors is known.
        for index in nodes.indices.reversed() {
            let sensor = nodes[index].sensor
            let inputs = demand[sensor.stream].map { sensor.inputs(for: $0) } ?? [:]
            nodes[index].inputs = inputs.filter { available.contains($0.key) }
            for (stream, rate) in nodes[index].inputs where rate > 0 { demand[stream] = max(demand[stream] ?? 0, rate) }
        }
        for index in nodes.indices { updateStatus(index) }
        return nodes.indices.filter { wasActive[$0] && nodes[$0].inputs.isEmpty }.map { nodes[$0].sensor.finish() }
    }

    private mutating func updateStatus(_ index: Int) {
        let node = nodes[index]
        let status = node.inputs.isEmpty ? nil : node.sensor.status
        if statuses[node.sensor.stream] != status { statuses[node.sensor.stream] = status }
    }

    /// Processes samples and returns all samples derived from them, directly or indirectly.
    mutating func update(_ samples: SampleBlock) -> [SampleBlock] {
        var outputs: [SampleBlock] = []
        for index in nodes.indices where nodes[index].inputs[samples.stream] != nil {
            let result = nodes[index].sensor.update(samples)
            updateStatus(index)
            guard !result.isEmpty else { continue }
            outputs.append(result)
            outputs += update(result)
        }
        return outputs
    }

    /// Resets the active sensors that depend on `ending`.
    /// - Parameter ending: The streams that restart. Derived streams that depend on them are added.
    /// - Returns: The pending samples of the derived streams.
    mutating func restart(_ ending: inout Set<SensorStream>) -> [SampleBlock] {
        var outputs: [SampleBlock] = []
        for index in nodes.indices where !ending.isDisjoint(with: nodes[index].inputs.keys) {
            let rest = nodes[index].sensor.finish()
            ending.insert(nodes[index].sensor.stream)
            guard !rest.isEmpty else { continue }
            outputs.append(rest)
            outputs += update(rest)
        }
        return outputs
    }
}
