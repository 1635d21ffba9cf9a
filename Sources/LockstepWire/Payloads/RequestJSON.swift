public import FoundationEssentials
public import LockstepModel

/// The JSON encoding of a request to an agent.
///
/// A request has one of the forms `{"rate":{"stream":"motion/accelerometer","hz":50,"lease_s":60}}`,
/// `{"phase":"background"}`, `{"flush":true}`, `{"describe":true}` and `{"calibrate":{…}}`, or null there. It may also
/// have an `id`, which the reply repeats, and the name of the requester as `client`.
public enum RequestJSON {
    /// The maximum length of `id` and `client` in bytes. Longer names are truncated.
    private static let maxNameBytes = 100
    /// The maximum size of a request in bytes. A larger request is not parsed, so the reply to it has no `id`.
    public static let maxBytes = 16_384

    /// Encodes a request.
    public static func encode(_ request: AgentRequest) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("id", ifPresent: request.id)
        object.member("client", ifPresent: request.client)
        switch request.action {
        case .lease(let lease):
            object.member("rate") { rate in
                rate.member("stream", lease.stream.name)
                rate.member("hz", lease.rate)
                rate.member("lease_s", lease.duration)
            }
        case .phase(let phase): object.member("phase", phase.rawValue)
        case .flush: object.member("flush", true)
        case .describe: object.member("describe", true)
        case .calibrate(let calibration?):
            object.member("calibrate") { CalibrationJSON.encode(calibration, into: &$0) }
        case .calibrate(nil): object.nullMember("calibrate")
        }
        return object.finish()
    }

    /// Returns the `id` of a request, even if the rest of the request is invalid, so that an error reply can contain
    /// it. Returns nil if there is none or the payload is too large.
    public static func id(of payload: Data) -> String? {
        guard payload.count <= maxBytes, let object = try? JSONMembers(payload) else { return nil }
        let id: String?? = try? object.optional("id")
        return (id ?? nil).map(truncated)
    }

    private static func truncated(_ name: String) -> String {
        guard name.utf8.count > maxNameBytes else { return name }
        // Truncate between Unicode scalars: a scalar has at most four bytes, but a character can have any number.
        var bytes = 0
        let kept = name.unicodeScalars.prefix { scalar in
            bytes += scalar.utf8.count
            return bytes <= maxNameBytes
        }
        return String(kept)
    }

    /// Decodes a request.
    /// - Parameter streams: the streams that a request may name.
    /// - Throws: ``PayloadError`` with a reason that can be sent to the requester.
    public static func decode(
        _ payload: Data, streams: StreamCatalog = .builtIn
    ) throws(PayloadError) -> AgentRequest {
        guard payload.count <= maxBytes else {
            throw PayloadError("the request has \(payload.count) bytes: the limit is \(maxBytes)")
        }
        let object = try JSONMembers(payload)
        let (id, client): (String?, String?) = (try object.optional("id"), try object.optional("client"))
        return AgentRequest(
            id: id.map(truncated), client: client.map(truncated), action: try action(object, streams))
    }

    private static func action(
        _ object: JSONMembers, _ streams: StreamCatalog
    ) throws(PayloadError) -> AgentRequest.Action {
        var actions: [AgentRequest.Action] = []
        if let rate: JSONMembers = try object.optional("rate") { actions.append(.lease(try lease(rate, streams))) }
        if let phase: String = try object.optional("phase") { actions.append(.phase(try requestedPhase(phase))) }
        if try object.optional("flush") == true { actions.append(.flush) }
        if try object.optional("describe") == true { actions.append(.describe) }
        if object.contains("calibrate") {
            let calibration: JSONMembers? = try object.optional("calibrate")
            actions.append(
                .calibrate(
                    try calibration.map { object throws(PayloadError) in try CalibrationJSON.decode(object) }))
        }
        guard let action = actions.first, actions.count == 1 else {
            throw PayloadError(
                "a request must have exactly one of 'rate', 'phase', 'flush', 'describe' and 'calibrate'")
        }
        return action
    }

    private static func lease(_ object: JSONMembers, _ streams: StreamCatalog) throws(PayloadError) -> RateLease {
        let name: String = try object.required("stream")
        let rate: Double = try object.required("hz")
        let lease: Double? = try object.optional("lease_s")
        guard let stream = streams.stream(named: name) else {
            throw PayloadError(streams.unknownStreamMessage(for: name))
        }
        guard rate == 0 || RateLease.validRates.contains(rate) else {
            let (low, high) = (RateLease.validRates.lowerBound, RateLease.validRates.upperBound)
            throw PayloadError("'hz' must be from \(low) to \(high), or 0 to end a lease")
        }
        guard let duration = lease ?? (rate == 0 ? RateLease.validDurations.lowerBound : nil) else {
            throw PayloadError("'rate.lease_s' is missing")
        }
        guard RateLease.validDurations.contains(duration) else {
            let (low, high) = (RateLease.validDurations.lowerBound, RateLease.validDurations.upperBound)
            throw PayloadError("'lease_s' must be from \(low) to \(high) seconds")
        }
        return RateLease(stream: stream, rate: rate, duration: duration)
    }

    private static func requestedPhase(_ word: String) throws(PayloadError) -> Phase {
        let phases: [Phase] = [.foreground, .inactive, .background]
        guard let phase = Phase(rawValue: word), phases.contains(phase) else {
            throw PayloadError(
                "'phase' is '\(word.prefix(40))'; valid phases are " + phases.map(\.rawValue).joined(separator: ", "))
        }
        return phase
    }
}
