import FoundationEssentials
import Hummingbird
import LockstepHTTP
import LockstepLive
import LockstepModel
import LockstepWire
import Logging

/// Commands to devices.
struct CommandRoutes {
    let feed: LiveFeed
    let knownStreams: KnownStreams
    let logger: Logger

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(Route("POST", "/api/v1/devices/{group}/{device}/commands", right: .operate)) { call in
            let address = try call.device()
            let body = try await call.jsonBody()
            let request = try Self.request(body, knownStreams.catalog)
            guard feed.picture.read({ $0[address] != nil }) else { throw Problem.unknown(address) }
            logger.info(
                "command sent", metadata: ["device": "\(address)", "action": "\(Self.name(of: request.action))"])
            return Response(json: try await Self.send(request, to: address, feed).payload)
        }
    }

    /// Sends a request to the agent of a device.
    /// - Throws: ``Problem`` if the agent refuses it, or does not reply.
    static func send(
        _ request: AgentRequest, to address: DeviceAddress, _ feed: LiveFeed
    ) async throws(Problem) -> CommandReply {
        let reply: CommandReply
        do { reply = try await feed.requests.send(request, to: address) } catch { throw problem(error) }
        guard case .failed(let reason) = reply.reply.outcome else { return reply }
        throw Problem(status: 409, title: "Refused by the agent", detail: "\(address): \(reason)")
    }

    /// Decodes a request. An `id` of the client is not used: another client could use the same at the same time.
    static func request(_ body: [UInt8], _ catalog: StreamCatalog) throws(Problem) -> AgentRequest {
        do {
            var request = try RequestJSON.decode(Data(body), streams: catalog)
            request.id = nil
            request.client = request.client ?? "lockstep-serve"
            return request
        } catch { throw .badRequest("the body is not a request: \(error)") }
    }

    static func problem(_ error: CommandError) -> Problem {
        switch error {
        case .noReply, .notConfirmed, .notRecorded: Problem(status: 504, title: "No reply", detail: error.description)
        case .invalidReply, .refused: Problem(status: 502, title: "Bad gateway", detail: error.description)
        case .notConnected, .tooManyRequests, .cancelled, .sessionDeleted: .unavailable(error.description)
        }
    }

    private static func name(of action: AgentRequest.Action) -> String {
        switch action {
        case .lease(let lease): "rate \(lease.stream.name)=\(lease.rate)"
        case .phase(let phase): "phase \(phase.rawValue)"
        case .flush: "flush"
        case .describe: "describe"
        case .calibrate: "calibrate"
        }
    }
}
