import Hummingbird
import LockstepHTTP
import LockstepLive
import LockstepModel
import LockstepMotion
import LockstepWire
import Logging

/// The guided calibration of a device, as `lockstep calibrate` does it. The client sends the result to the agent as a command.
struct CalibrationRoute {
    let feed: LiveFeed
    let live: LiveRoutes
    let logger: Logger

    /// The time after which the leases of the sensors end by themselves, in s: that of a person who is as slow as possible.
    private static let leaseDuration =
        Double(CalibrationHub.patience) / 1e6 * Double(6 + InertialCalibrator.checks)

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(Route("POST", "/api/v1/devices/{group}/{device}/calibration", right: .operate)) { call in
            let address = try call.device()
            guard feed.picture.read({ $0[address] != nil }) else { throw Problem.unknown(address) }
            let describe = try await CommandRoutes.send(AgentRequest(action: .describe), to: address, feed)
            guard case .described(let description) = describe.reply.outcome else {
                throw CommandRoutes.problem(.noReply(device: "\(address)"))
            }
            let streams = [SensorStream.accelerometer, .gyroscope].filter(description.streams.map(\.stream).contains)
            guard streams.first == .accelerometer else {
                throw Problem(status: 409, title: "Refused", detail: "\(address) has no accelerometer")
            }
            return try await guide(address, streams, description.calibration, call)
        }
    }

    private func guide(
        _ address: DeviceAddress, _ streams: [SensorStream], _ replaced: InertialCalibration?, _ call: APICall
    ) async throws -> Response {
        let subscription: LiveSubscription?
        do {
            subscription = try feed.picture.subscribeToCalibration(
                of: address, hasGyroscope: streams.contains(.gyroscope), replaced: replaced)
        } catch { throw Problem.unavailable("\(error)") }
        guard let subscription else {
            throw Problem(
                status: 409, title: "Refused",
                detail: "somebody else is calibrating \(address): wait until this has ended, and start again")
        }
        logger.info("calibration started", metadata: ["device": "\(address)"])
        let client = "lockstep-serve-\(Epoch.random())"
        do {
            // Not earlier, so that no lease is granted after its end.
            defer {
                subscription.afterEnd { for stream in streams { try? await lease(stream, of: address, at: 0, client) } }
            }
            for stream in streams { try await lease(stream, of: address, at: CalibrationGuide.rate, client) }
            return try live.respond(call, live.streams.calibrations) { subscription }
        } catch {
            subscription.cancel()
            throw error
        }
    }

    private func lease(
        _ stream: SensorStream, of address: DeviceAddress, at rate: Double, _ client: String
    ) async throws(Problem) {
        let lease = RateLease(stream: stream, rate: rate, duration: Self.leaseDuration)
        _ = try await CommandRoutes.send(AgentRequest(client: client, action: .lease(lease)), to: address, feed)
    }
}
