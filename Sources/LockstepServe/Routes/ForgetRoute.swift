import Dispatch
import Hummingbird
import LockstepHTTP
import LockstepLive
import LockstepModel
import LockstepWire
import Logging

/// Forgets a device that no longer exists, as `lockstep forget` does: it is no longer listed, and its samples stay stored.
struct ForgetRoute {
    let feed: LiveFeed
    let logger: Logger

    /// One after the other: each waits for the answers of collectors on a connection of its own.
    private static let queue = DispatchQueue(label: "lockstep.serve.forget")
    /// Further requests would only wait.
    private static let places = ConnectionCounter(maximum: 4)

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(Route("POST", "/api/v1/devices/{group}/{device}/forget", right: .operate)) { call in
            let address = try call.device()
            guard Self.places.enter() else {
                throw Problem.unavailable("other devices are being forgotten: try again later")
            }
            defer { Self.places.leave() }
            let feed = feed
            let result = await withCheckedContinuation { done in
                Self.queue.async { done.resume(returning: Result { try feed.forget(address) }) }
            }
            do {
                let text = try result.get()
                logger.info("device forgotten by request", metadata: ["device": "\(address)"])
                var object = JSONObjectWriter()
                object.member("text", text)
                return Response(json: object.finish())
            } catch { throw Problem(status: 409, title: "Not forgotten", detail: "\(error)") }
        }
    }
}
