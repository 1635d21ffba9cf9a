import Hummingbird
import LockstepHTTP
import LockstepModel
import LockstepStore

/// What a rule about an area would have told in the past, as `lockstep rules test` finds it.
struct RehearsalRoute {
    let store: StorePool

    /// A test keeps a thread of the store busy for some seconds.
    private static let tests = ConnectionCounter(maximum: 1)

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(
            Route("GET", "/api/v1/rules/test", right: .read, parameters: RehearsalQuery.parameters)
        ) { call in
            let query = try RehearsalQuery(call.query, call.limits, now: Moment.now().wall)
            guard Self.tests.enter() else {
                throw Problem.unavailable("another area is being tested: try again later")
            }
            defer { Self.tests.leave() }
            return Response(json: try await store.read { try query.result(in: $0, $1) }.json)
        }
    }
}
