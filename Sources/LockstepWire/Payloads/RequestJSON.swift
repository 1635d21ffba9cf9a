public import FoundationEssentials
public import LockstepModel

/// The JSON form of a request to an agent: one of
/// `{"rate":{"stream":"motion/accelerometer","hz":50,"lease_s":60}}`, `{"phase":"background"}`, `{"flush":true}` and
/// `{"describe":true}`, with `id` and `client` beside it where the asker wants to name the request and itself.
public enum RequestJSON {
    /// Names are cut to so many bytes.
    private static let longestName = 100
    /// Bytes of a request. A longer one is not even read, so that its answer has no `id`.
    public static let maxBytes = 16_384

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
        }
        return object.finish()
    }

    /// The `id` of a request, however wrong the rest of it is: the answer names it.
    public static func id(of payload: Data) -> String? {
        struct Wire: Decodable { var id: String? }
        guard payload.count <= maxBytes else { return nil }
        return (try? JSONDecoder().decode(Wire.self, from: payload))?.id.map(shortened)
    }

    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > longestName else { return name }
        // A character may be of any length; scalars are of four bytes at the most.
        var bytes = 0
        let kept = name.unicodeScalars.prefix { scalar in
            bytes += scalar.utf8.count
            return bytes <= longestName
        }
        return String(kept)
    }

    /// - Throws: ``PayloadError`` with the reason, fit to be told to the asker.
    public static func decode(_ payload: Data) throws(PayloadError) -> AgentRequest {
        do {
            guard payload.count <= maxBytes else { throw PayloadError("a request has at most \(maxBytes) bytes") }
            let wire = try JSONDecoder().decode(Wire.self, from: payload)
            return AgentRequest(
                id: wire.id.map(shortened), client: wire.client.map(shortened), action: try wire.action())
        } catch {
            throw PayloadError(decoding: error)
        }
    }

    private struct Wire: Decodable {
        var id: String?
        var client: String?
        var rate: Rate?
        var phase: String?
        var flush: Bool?
        var describe: Bool?

        struct Rate: Decodable {
            var stream: String
            var hz: Double
            var lease: Double?

            enum CodingKeys: String, CodingKey {
                case stream, hz
                case lease = "lease_s"
            }
        }

        func action() throws(PayloadError) -> AgentRequest.Action {
            var actions: [AgentRequest.Action] = []
            if let rate { actions.append(.lease(try lease(rate))) }
            if let phase { actions.append(.phase(try settable(phase))) }
            if flush == true { actions.append(.flush) }
            if describe == true { actions.append(.describe) }
            guard let action = actions.first, actions.count == 1 else {
                throw PayloadError("a request has one of 'rate', 'phase', 'flush' and 'describe'")
            }
            return action
        }

        private func lease(_ rate: Rate) throws(PayloadError) -> RateLease {
            guard let stream = SensorStream.named(rate.stream) else {
                throw PayloadError(
                    "'\(rate.stream.prefix(80))' is no stream: known are "
                        + SensorStream.builtIn.map(\.name).joined(separator: ", "))
            }
            guard rate.hz == 0 || RateLease.rates.contains(rate.hz) else {
                throw PayloadError(
                    "'hz' takes \(RateLease.rates.lowerBound) to \(RateLease.rates.upperBound), or 0 to end a lease")
            }
            guard let duration = rate.lease ?? (rate.hz == 0 ? RateLease.durations.lowerBound : nil) else {
                throw PayloadError("'rate.lease_s' is missing")
            }
            guard RateLease.durations.contains(duration) else {
                throw PayloadError(
                    "'lease_s' takes \(RateLease.durations.lowerBound) to \(RateLease.durations.upperBound) seconds")
            }
            return RateLease(stream: stream, rate: rate.hz, duration: duration)
        }

        private func settable(_ word: String) throws(PayloadError) -> Phase {
            let phases: [Phase] = [.foreground, .inactive, .background]
            guard let phase = Phase(rawValue: word), phases.contains(phase) else {
                throw PayloadError(
                    "'phase' is '\(word.prefix(40))': an agent can be told "
                        + phases.map(\.rawValue).joined(separator: ", "))
            }
            return phase
        }
    }
}
