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
    ///   - sensors: Candidates, each after those it depends on. Candidates that lack a required input, or whose stream a
    ///     source provides, are left out.
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

    /// The streams that are derived.
    var streams: [SensorStream] { nodes.map(\.sensor.stream) }

    /// The rates of all inputs of active sensors, in samples/s; a stream may occur more than once.
    var inputRates: [(key: SensorStream, value: Double)] { nodes.flatMap { Array($0.inputs) } }

    /// The statuses of the active sensors that report one, by their streams.
    var statuses: [SensorStream: SourceStatus] {
        var statuses: [SensorStream: SourceStatus] = [:]
        for node in nodes where !node.inputs.isEmpty { statuses[node.sensor.stream] = node.sensor.status }
        return statuses
    }

    /// Activates, deactivates and tunes the sensors.
    /// - Parameter demand: The fastest rate that subscribers request of each stream, in samples/s.
    /// - Returns: The pending samples of sensors that become inactive.
    @discardableResult
    mutating func setDemand(_ demand: [SensorStream: Double]) -> [SampleBlock] {
        var demand = demand
        let wasActive = nodes.map { !$0.inputs.isEmpty }
        // Backwards, so that a sensor knows the demand of those that depend on it.
        for index in nodes.indices.reversed() {
            let sensor = nodes[index].sensor
            let inputs = demand[sensor.stream].map { sensor.inputs(for: $0) } ?? [:]
            nodes[index].inputs = inputs.filter { available.contains($0.key) }
            for (stream, rate) in nodes[index].inputs { demand[stream] = max(demand[stream] ?? 0, rate) }
        }
        return nodes.indices.filter { wasActive[$0] && nodes[$0].inputs.isEmpty }.map { nodes[$0].sensor.finish() }
    }

    /// Processes samples and returns the samples derived from them, directly and indirectly.
    mutating func update(_ samples: SampleBlock) -> [SampleBlock] {
        var outputs: [SampleBlock] = []
        for index in nodes.indices where nodes[index].inputs[samples.stream] != nil {
            let result = nodes[index].sensor.update(samples)
            guard !result.isEmpty else { continue }
            outputs.append(result)
            outputs += update(result)
        }
        return outputs
    }

    /// Resets the active sensors that depend on `ending`.
    /// - Parameter ending: The streams that begin anew; the derived ones are added.
    /// - Returns: The pending samples.
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
