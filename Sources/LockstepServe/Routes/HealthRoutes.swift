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
    /// Whether the store was read since the start, or could not be.
    var isStoreKnown = true
    /// Whether a store is configured. Without one, the server is ready to serve live data.
    var hasStore = true

    /// The reasons why the server cannot do its work; empty if it can.
    var problems: [String] {
        (isBrokerConnected ? [] : ["broker: \(brokerProblem ?? "not connected")"])
            + (hasStore ? storeProblem.map { ["store: \($0)"] } ?? [] : [])
    }

    /// The problems without addresses and paths, for clients without a token.
    var publicProblems: [String] {
        let parts = (isBrokerConnected ? [] : ["the broker"]) + (hasStore && storeProblem != nil ? ["the store"] : [])
        return parts.map { "\($0) cannot be used: GET /api/v1/system with a token states the reason" }
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
        routes.add(Route("GET", "/readyz", right: nil, showsRights: true)) { call in
            let problems = call.rights.allows(.read) ? status().problems : status().publicProblems
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
        object.member("join_url", orNull: configuration.joinURL)
        object.member("broker") { broker in
            broker.member("connected", status.isBrokerConnected)
            broker.member("address", "\(configuration.broker)")
            broker.member("problem", orNull: status.brokerProblem)
        }
        object.member("store") { store in
            store.member("configured", status.hasStore)
            if status.isStoreKnown || !status.hasStore {
                store.member("readable", status.storeProblem == nil)
            } else {
                store.member("readable", orNull: String?.none)
            }
            store.member("problem", orNull: status.storeProblem)
        }
        object.key("collectors")
        object.raw(String(decoding: collectors(), as: UTF8.self))
        return object.finish()
    }
}
