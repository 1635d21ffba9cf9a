import HTTPTypes
import Hummingbird
import LockstepHTTP
import LockstepModel
import LockstepWire

/// Signing in and out: the page asks for a token once, and then has a session whose cookie scripts cannot read.
struct SessionRoutes {
    let policy: AccessPolicy
    let refusedLogins: RefusedLogins
    let version: String

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(Route("GET", "/api/v1/session", right: nil, showsRights: true)) { call in
            Response(json: json(call.rights))
        }
        routes.add(Route("POST", "/api/v1/session", right: nil)) { call in
            let bytes = try await call.jsonBody()
            guard let token = (try? JSONParser.parse(Array(bytes)))?["token"]?.string else {
                throw Problem.badRequest("the body is not an object with a text 'token': {\"token\":\"…\"}")
            }
            var response = Response(status: .noContent)
            guard policy.tokens != nil else { return response }
            guard policy.rights(ofToken: token).allows(.read) else {
                throw try await refusedLogins.answer(
                    .unauthorized("the token is unknown: use a token from the server's token file"), hasLogin: true,
                    path: call.request.uri.path, client: call.memory.client)
            }
            response.headers[.setCookie] = policy.beginSession(token: token, now: Self.now)
            return response
        }
        routes.add(Route("DELETE", "/api/v1/session", right: nil)) { call in
            var response = Response(status: .noContent)
            response.headers[.setCookie] = policy.endSession(of: Credentials(call.request), now: Self.now)
            return response
        }
    }

    /// Returns the document `{"token_required":…,"authenticated":…,"rights":[…],"version":…}`.
    func json(_ rights: Rights) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("token_required", policy.tokens != nil)
        object.member("authenticated", rights.allows(.read))
        object.member("rights", rights.rights) { $0.string($1.rawValue) }
        object.member("version", version)
        return object.finish()
    }

    private static var now: Int64 { Moment.now().wall.microseconds / 1_000_000 }
}
