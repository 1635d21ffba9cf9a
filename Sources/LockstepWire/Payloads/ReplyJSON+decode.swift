public import FoundationEssentials
public import LockstepModel

extension ReplyJSON {
    /// Decodes a reply. A declared stream has no columns, because a reply does not contain declarations.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: Data) throws(PayloadError) -> AgentReply {
        let object = try JSONMembers(payload)
        return AgentReply(
            id: try object.optional("id"), outcome: try outcome(object), newest: try object.numbers("newest"))
    }

    private static func outcome(_ object: JSONMembers) throws(PayloadError) -> AgentReply.Outcome {
        guard try object.required("ok") else { return .failed(try object.optional("error") ?? "no reason given") }
        if let rate: Rate = try object.optional("rate") {
            return .leased(stream: rate.stream, rate: rate.hz, until: rate.until)
        }
        if let phase: Phase = try object.optional("phase") { return .phase(phase) }
        if let flushed: Int = try object.optional("flushed") { return .flushed(batches: flushed) }
        if let describe: JSONMembers = try object.optional("describe") { return .described(try description(describe)) }
        if object.contains("calibration") { return .calibrated(try calibration(object)) }
        throw PayloadError("the reply has none of 'rate', 'phase', 'flushed', 'describe', 'calibration' and 'error'")
    }

    private static func calibration(_ object: JSONMembers) throws(PayloadError) -> InertialCalibration? {
        let calibration: JSONMembers? = try object.optional("calibration")
        return try calibration.map { object throws(PayloadError) in try CalibrationJSON.decode(object) }
    }

    private struct Rate: JSONReadable {
        var stream: SensorStream
        /// The rate in samples per second: nil for 0, infinity for `"source"`, the native rate of the source.
        var hz: Double?
        var client: String?
        var until: Timestamp?

        static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> Rate {
            let object = try JSONMembers.read(value, at: path())
            let name: String = try object.required("stream")
            guard let stream = StreamCatalog.builtIn.reference(named: name) else {
                throw PayloadError("unknown stream '\(name)'")
            }
            let hz: Double
            if case .object(let members) = value, members["hz"] == .string("source") {
                hz = .infinity
            } else {
                hz = try object.required("hz")
            }
            return Rate(
                stream: stream, hz: hz > 0 ? hz : nil, client: try object.optional("client"),
                until: try object.optional("until"))
        }
    }

    private static func description(_ object: JSONMembers) throws(PayloadError) -> AgentDescription {
        let (streams, leases): ([Rate], [Rate]) = (try object.required("streams"), try object.required("leases"))
        let outbox: JSONMembers = try object.required("outbox")
        return AgentDescription(
            epoch: try object.required("epoch"), phase: try object.required("phase"),
            streams: streams.map { .init(stream: $0.stream, rate: $0.hz) },
            leases: leases.map {
                .init(
                    client: $0.client ?? "", stream: $0.stream, rate: $0.hz ?? 0,
                    until: $0.until ?? Timestamp(microseconds: 0))
            },
            sources: try object.required("sources"), calibration: try calibration(object),
            outboxBatches: try outbox.required("batches"),
            outboxBytes: try outbox.required("bytes"), droppedSamples: try outbox.required("dropped_samples"))
    }
}
