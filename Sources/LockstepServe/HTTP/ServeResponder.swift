import HTTPTypes
import Hummingbird
import HummingbirdCore
import LockstepHTTP
import LockstepModel
import Logging
import NIOCore

/// The connection of a request.
struct ServeContext: InitializableFromSource {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) { channel = source.channel }
}

/// Answers requests: it checks where they come from and what they may do, and calls the handler of their route.
struct ServeResponder: HTTPResponder {
    typealias Context = ServeContext

    let routes: RouteTable<APIHandler>
    let policy: AccessPolicy
    let securityHeaders: SecurityHeaders
    let limits: ServeLimits
    let refusedLogins: RefusedLogins
    /// The memory for answers to all clients.
    let budget: MemoryBudget
    let compression = AnswerCompression()
    let logger: Logger

    func respond(to request: Request, context: ServeContext) async -> Response {
        let forwarded = HTTPField.Name("X-Forwarded-For").map { request.headers[values: $0] } ?? []
        let client = limits.http.trustedProxies.client(
            peer: context.channel.remoteAddress?.ipAddress, forwardedFor: forwarded)
        let memory = AnswerMemory(budget: budget, client: client, channel: context.channel)
        var response: Response
        do { response = try await answer(request, memory) } catch let problem as Problem {
            response = Response(problem)
        } catch is CancellationError {
            response = Response(
                Problem.unavailable(
                    "the request was cancelled, because the server is stopping or the client closed its side of the "
                        + "connection: keep it open until the answer is complete, or try again later"))
        } catch {
            logger.error("request failed", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
            response = Response(
                Problem(
                    status: 500, title: "Internal server error",
                    detail: "the request failed because of an error in the server, which is in its log"))
        }
        for (name, value) in securityHeaders.fields {
            if let name = HTTPField.Name(name) { response.headers[name] = value }
        }
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        guard request.method == .head else { return response }
        let isStream = response.body.contentLength == nil
        var head = response.createHeadResponse()
        if isStream { head.headers[.connection] = "close" }
        return head
    }

    private func answer(_ request: Request, _ memory: AnswerMemory) async throws -> Response {
        let credentials = Credentials(request)
        try policy.checkSource(credentials)
        let target = try RequestTarget(request.head.path ?? "")
        switch routes.match(request.method.rawValue, target.segments) {
        case .none:
            throw Problem.notFound("there is no '\(request.uri.path.prefix(200))': see /openapi.json for the resources")
        case .otherMethods(let methods):
            throw Problem(
                status: 405, title: "Method not allowed",
                detail: "this resource does not support \(request.method.rawValue.prefix(40)): use "
                    + methods.joined(separator: ", "), headers: ["Allow": methods.joined(separator: ", ")])
        case .found(let route, let handler, let path):
            let rights = policy.rights(of: credentials, now: Moment.now().wall.microseconds / 1_000_000)
            try await checkLogin(credentials, rights, route, request, memory.client)
            if let right = route.right { try check(right, rights) }
            let query = try QueryParameters(target.query, allowed: route.parameters, repeatable: route.repeatable)
            let call = APICall(
                request: request, path: path, query: query, rights: rights, limits: limits, channel: memory.channel,
                memory: memory)
            // A command is not taken back when its client goes away.
            guard route.method == "GET" else { return try await handler(call) }
            let response = try await Self.untilClientDisconnects(memory.channel) { try await handler(call) }
            return memory.hold(
                try await compression.answer(response, to: request), isPublic: route.right == nil)
        }
    }

    /// Runs a handler, and cancels it when the client closes its side of the connection.
    private static func untilClientDisconnects(
        _ channel: any Channel, _ handler: @escaping @Sendable () async throws -> Response
    ) async throws -> Response {
        let task = Task { try await handler() }
        watch(channel) { task.cancel() }
        defer { watch(channel, nil) }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Sets what happens when the client goes away. A connection has one request at a time.
    private static func watch(_ channel: any Channel, _ action: (@Sendable () -> Void)?) {
        channel.eventLoop.execute {
            try? channel.pipeline.syncOperations.handler(type: RequestDeadlines.self).onClientDisconnect(action)
        }
    }

    /// Records a login that is refused. Otherwise anyone could try tokens unnoticed, also where none is needed.
    private func checkLogin(
        _ credentials: Credentials, _ rights: Rights, _ route: Route, _ request: Request, _ client: Client
    ) async throws {
        let hasToken = policy.hasToken(credentials)
        guard !rights.allows(.read), route.right != nil || (route.showsRights && hasToken) else { return }
        let problem = Problem.unauthorized(
            "a token is needed: send 'Authorization: Bearer TOKEN', or sign in with POST /api/v1/session")
        let answer = try await refusedLogins.answer(
            problem, hasLogin: hasToken, path: request.uri.path, client: client)
        if route.right != nil || answer != problem { throw answer }
    }

    private func check(_ right: Right, _ rights: Rights) throws(Problem) {
        if rights.allows(right) { return }
        throw .forbidden(
            policy.isReadOnly
                ? "the server was started with --read-only: start it without this option to send commands and "
                    + "acknowledge events"
                : "this token may only read: use a token with the right 'operate'")
    }
}

extension Credentials {
    init(_ request: Request) {
        method = request.method.rawValue
        host = request.head.authority
        origin = request.headers[.origin]
        fetchSite = HTTPField.Name("Sec-Fetch-Site").flatMap { request.headers[$0] }
        fetchMode = HTTPField.Name("Sec-Fetch-Mode").flatMap { request.headers[$0] }
        authorization = request.headers[.authorization]
        cookies = request.headers[values: .cookie]
    }
}
