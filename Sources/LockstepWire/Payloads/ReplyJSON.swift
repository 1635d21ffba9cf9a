public import LockstepModel

/// The JSON encoding of an agent's reply: `{"id":"7","ok":true,"rate":{"stream":"…","hz":50,"until":…}}`, or
/// `{"id":"7","ok":false,"error":"…"}`.
///
/// A rate (`hz`) is a number of samples per second. It is 0 for a stream that is not published, and `"source"` for the
/// native rate of the source.
public enum ReplyJSON {
    /// Encodes a reply.
    public static func encode(_ reply: AgentReply) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("id", ifPresent: reply.id)
        switch reply.outcome {
        case .failed(let reason):
            object.member("ok", false)
            object.member("error", reason)
            return object.finish()
        case .leased(let stream, let rate, let until):
            object.member("ok", true)
            object.member("rate") { member in
                member.member("stream", stream.name)
                member.rate(rate)
                member.member("until", ifPresent: until?.microseconds)
            }
        case .phase(let phase):
            object.member("ok", true)
            object.member("phase", phase.rawValue)
        case .flushed(let batches):
            object.member("ok", true)
            object.member("flushed", Int64(batches))
            if let newest = reply.newest { object.member("newest", newest) }
        case .described(let description):
            object.member("ok", true)
            object.member("describe") { $0.describe(description) }
        case .calibrated(let calibration):
            object.member("ok", true)
            object.member("calibration", calibration)
        }
        return object.finish()
    }
}

extension JSONObjectWriter {
    fileprivate mutating func rate(_ rate: Double?) {
        if let rate, rate.isInfinite { member("hz", "source") } else { member("hz", rate ?? 0) }
    }

    fileprivate mutating func member(_ name: String, _ calibration: InertialCalibration?) {
        guard let calibration else { return nullMember(name) }
        member(name) { CalibrationJSON.encode(calibration, into: &$0) }
    }

    fileprivate mutating func describe(_ description: AgentDescription) {
        member("epoch", description.epoch.rawValue)
        member("phase", description.phase.rawValue)
        member("streams", description.streams) { writer, item in
            writer.object { object in
                object.member("stream", item.stream.name)
                object.rate(item.rate)
                object.member("columns", item.stream.columns) { $0.string($1.name) }
                object.member("units", item.stream.columns) { $0.string($1.unit) }
            }
        }
        member("leases", description.leases) { writer, lease in
            writer.object { object in
                object.member("client", lease.client)
                object.member("stream", lease.stream.name)
                object.member("hz", lease.rate)
                object.member("until", lease.until.microseconds)
            }
        }
        member("sources", description.sources)
        if let calibration = description.calibration { member("calibration", calibration) }
        member("outbox") { object in
            object.member("batches", Int64(description.outboxBatches))
            object.member("bytes", description.outboxBytes)
            object.member("dropped_samples", description.droppedSamples)
        }
    }
}
