public import FoundationEssentials
public import LockstepModel

extension ReplyJSON {
    /// Decodes a reply. A declared stream has no columns, because a reply does not contain declarations.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: Data) throws(PayloadError) -> AgentReply {
        do {
            let wire = try JSONDecoder().decode(Wire.self, from: payload)
            return AgentReply(id: wire.id, outcome: try wire.outcome())
        } catch let error as IdentifierError {
            throw PayloadError(error.description)
        } catch {
            throw PayloadError(decoding: error)
        }
    }

    private struct Wire: Decodable {
        var id: String?
        var ok: Bool
        var error: String?
        var rate: Rate?
        var phase: Phase?
        var flushed: Int?
        var describe: Description?

        func outcome() throws -> AgentReply.Outcome {
            if !ok { return .failed(error ?? "no reason given") }
            if let rate { return .leased(stream: try rate.sensorStream(), rate: rate.hz.value, until: rate.until) }
            if let phase { return .phase(phase) }
            if let flushed { return .flushed(batches: flushed) }
            if let describe { return .described(try describe.description()) }
            throw PayloadError("the reply has none of 'rate', 'phase', 'flushed', 'describe' and 'error'")
        }
    }

    /// A rate in samples per second, or `"source"` for the native rate of the source.
    private struct Hertz: Decodable {
        /// The rate in samples per second: nil for 0, infinity for `"source"`.
        let value: Double?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if (try? container.decode(String.self)) == "source" {
                value = .infinity
            } else {
                let number = try container.decode(Double.self)
                value = number > 0 ? number : nil
            }
        }
    }

    private struct Rate: Decodable {
        var stream: String
        var hz: Hertz
        var client: String?
        var until: Timestamp?

        func sensorStream() throws -> SensorStream {
            guard let found = StreamCatalog.builtIn.reference(named: stream) else {
                throw PayloadError("unknown stream '\(stream)'")
            }
            return found
        }
    }

    private struct Description: Decodable {
        struct Outbox: Decodable {
            var batches: Int
            var bytes: Int64
            var dropped: Int64

            enum CodingKeys: String, CodingKey {
                case batches, bytes
                case dropped = "dropped_samples"
            }
        }

        var epoch: String
        var phase: Phase
        var streams: [Rate]
        var leases: [Rate]
        var sources: [String: String]
        var outbox: Outbox

        func description() throws -> AgentDescription {
            AgentDescription(
                epoch: try Epoch(validating: epoch), phase: phase,
                streams: try streams.map { .init(stream: try $0.sensorStream(), rate: $0.hz.value) },
                leases: try leases.map {
                    .init(
                        client: $0.client ?? "", stream: try $0.sensorStream(), rate: $0.hz.value ?? 0,
                        until: $0.until ?? Timestamp(microseconds: 0))
                },
                sources: sources, outboxBatches: outbox.batches, outboxBytes: outbox.bytes,
                droppedSamples: outbox.dropped)
        }
    }
}
