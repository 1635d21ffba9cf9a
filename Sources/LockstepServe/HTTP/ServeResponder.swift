import HTTPTypes
import Hummingbird
import HummingbirdCore
import LockstepHTTP
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
    let logger: Logger

    func respond(to request: Request, context: ServeContext) async -> Response {
        var response: Response
        do { response = try await answer(request, context.channel) } catch let problem as Problem {
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

    private func answer(_ request: Request, _ channel: any Channel) async throws -> Response {
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
            let rights = policy.rights(of: credentials)
            if let right = route.right { try check(right, rights) }
            let query = try QueryParameters(target.query, allowed: route.parameters, repeatable: route.repeatable)
            let call = APICall(
                request: request, path: path, query: query, rights: rights, limits: limits, channel: channel)
            // A command is not taken back when its client goes away.
            guard route.method == "GET" else { return try await handler(call) }
            return try await Self.untilClientDisconnects(channel) { try await handler(call) }
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

    private func check(_ right: Right, _ rights: Rights) throws(Problem) {
        if rights.allows(right) { return }
        guard rights.allows(.read) else {
            throw .unauthorized(
                "a token is needed: send 'Authorization: Bearer TOKEN', or sign in with POST /api/v1/session")
        }
        throw .forbidden(
            policy.isReadOnly
                ? "the server was started with --read-only: start it without this option to send commands and "
                    + "acknowledge events"
                : "this token may only read: use a token with the right 'operate'")
    }
}

extension Credentials {
    fileprivate init(_ request: Request) {
        method = request.method.rawValue
        host = request.head.authority
        origin = request.headers[.origin]
        fetchSite = HTTPField.Name("Sec-Fetch-Site").flatMap { request.headers[$0] }
        fetchMode = HTTPField.Name("Sec-Fetch-Mode").flatMap { request.headers[$0] }
        authorization = request.headers[.authorization]
        cookies = request.headers[values: .cookie]
    }
}
