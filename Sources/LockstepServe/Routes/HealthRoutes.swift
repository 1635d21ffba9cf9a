import Hummingbird
import LockstepHTTP
import LockstepModel
import LockstepWire

/// The state of the parts that the server depends on.
struct SystemStatus: Sendable {
    /// Whether messages of the broker are received.
    let isBrokerConnected: Bool
    /// The reason why no messages are received, or nil.
    let brokerProblem: String?
    /// The reason why the store cannot be read, or nil.
    let storeProblem: String?

    /// The reasons why the server cannot do its work; empty if it can.
    var problems: [String] {
        (isBrokerConnected ? [] : ["broker: \(brokerProblem ?? "not connected")"])
            + (storeProblem.map { ["store: \($0)"] } ?? [])
    }
}

/// Health of the server and of the whole system.
struct HealthRoutes {
    let configuration: ServeConfiguration
    let status: @Sendable () -> SystemStatus
    /// Returns the health reports of all collectors as a JSON array.
    let collectors: @Sendable () -> [UInt8]

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(Route("GET", "/healthz", right: nil)) { _ in
            var object = JSONObjectWriter()
            object.member("status", "ok")
            return Response(json: object.finish())
        }
        routes.add(Route("GET", "/readyz", right: nil)) { _ in
            let problems = status().problems
            guard problems.isEmpty else { throw Problem.unavailable(problems.joined(separator: "; ")) }
            var object = JSONObjectWriter()
            object.member("status", "ready")
            return Response(json: object.finish())
        }
        routes.add(Route("GET", "/api/v1/system", right: .read)) { _ in Response(json: system()) }
    }

    private func system() -> [UInt8] {
        let status = status()
        var object = JSONObjectWriter()
        object.member("version", configuration.version)
        object.member("at", Moment.now().wall.microseconds)
        object.member("tiles", orNull: configuration.tiles)
        object.member("broker") { broker in
            broker.member("connected", status.isBrokerConnected)
            broker.member("address", "\(configuration.broker)")
            broker.member("problem", orNull: status.brokerProblem)
        }
        object.member("store") { store in
            store.member("readable", status.storeProblem == nil)
            store.member("problem", orNull: status.storeProblem)
        }
        object.key("collectors")
        object.raw(String(decoding: collectors(), as: UTF8.self))
        return object.finish()
    }
}
