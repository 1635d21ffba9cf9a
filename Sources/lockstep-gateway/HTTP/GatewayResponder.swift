import HTTPTypes
import Hummingbird
import HummingbirdCore
import LockstepGateway
import LockstepHTTP
import LockstepModel
import LockstepTransfer
import LockstepWire
import Logging
import NIOCore

/// The connection of a request.
struct GatewayContext: InitializableFromSource {
    /// The address of the other end of the connection, or nil if it is unknown.
    let peer: String?

    init(source: ApplicationRequestContextSource) { peer = source.channel.remoteAddress?.ipAddress }
}

/// Answers the requests of foreign devices. A request is answered with 2xx when its samples are on disk.
struct GatewayResponder: HTTPResponder {
    typealias Context = GatewayContext

    let configuration: GatewayServerConfiguration
    /// The formats with an HTTP path.
    let adapters: [String: any GatewayAdapter]
    /// Hands a message to the gateway, and returns its outcome after the commit.
    let accept: @Sendable (ForeignMessage) async -> RequestOutcome
    /// The request bodies that are being read or wait for a commit. One sender may have a quarter of them, so that its slow
    /// requests leave room for those of others.
    let pending: MemoryBudget
    let logger: Logger
    let countRefusedLogin: @Sendable () -> Void
    private let refusedLogins: RefusedLogins
    private let securityHeaders = SecurityHeaders(tiles: nil)

    init(
        _ configuration: GatewayServerConfiguration, adapters: [any GatewayAdapter], logger: Logger,
        countRefusedLogin: @escaping @Sendable () -> Void,
        accept: @escaping @Sendable (ForeignMessage) async -> RequestOutcome
    ) {
        self.configuration = configuration
        self.adapters = Dictionary(adapters.compactMap { adapter in adapter.path.map { ($0, adapter) } }) { first, _ in
            first
        }
        self.accept = accept
        self.logger = logger
        self.countRefusedLogin = countRefusedLogin
        refusedLogins = RefusedLogins(logger: logger)
        pending = MemoryBudget(maximum: configuration.pendingBytes)
    }

    func respond(to request: Request, context: GatewayContext) async -> Response {
        var response: Response
        let forwarded = HTTPField.Name("X-Forwarded-For").map { request.headers[values: $0] } ?? []
        let client = configuration.limits.trustedProxies.client(peer: context.peer, forwardedFor: forwarded)
        do { response = try await answer(request, from: client) } catch let problem as Problem {
            response = Response(problem)
        } catch is CancellationError {
            response = Response(Problem.unavailable("the gateway is stopping: try again later"))
        } catch {
            logger.error("request failed", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
            response = Response(
                Problem(
                    status: 500, title: "Internal server error",
                    detail: "the request failed because of an error in the gateway, which is in its log"))
        }
        for (name, value) in securityHeaders.fields {
            if let name = HTTPField.Name(name), response.headers[name] == nil { response.headers[name] = value }
        }
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func answer(_ request: Request, from client: Client) async throws -> Response {
        let source = RequestSource(
            host: request.head.authority, origin: request.headers[.origin],
            fetchSite: HTTPField.Name("Sec-Fetch-Site").flatMap { request.headers[$0] },
            fetchMode: HTTPField.Name("Sec-Fetch-Mode").flatMap { request.headers[$0] })
        try source.check(isOpen: configuration.users == nil, usesTLS: configuration.tls != nil)
        let target = try RequestTarget(request.head.path ?? "")
        let path = "/" + target.segments.joined(separator: "/")
        if let adapter = adapters[path] {
            guard request.method == .post else { throw methodProblem(request, allowed: "POST") }
            return try await submit(request, from: client, target, path, adapter)
        }
        guard target.segments.first == "join" || path == "/healthz" || path == "/ca.pem" else {
            let paths = adapters.keys.sorted().joined(separator: ", ")
            throw Problem.notFound("there is no '\(path.prefix(200))': the resources are /join, \(paths)")
        }
        guard request.method == .get || request.method == .head else {
            throw methodProblem(request, allowed: "GET, HEAD")
        }
        if path == "/ca.pem" { return try authority() }
        return path == "/healthz" ? healthy : try await page(target, request)
    }

    /// Phones begin the installation of a certificate with this type.
    private func authority() throws -> Response {
        guard let certificate = configuration.authority else {
            throw Problem.notFound("this server has no certificate of an authority: set --authority-file")
        }
        var response = Response(status: .ok, body: .init(byteBuffer: ByteBuffer(bytes: certificate)))
        response.headers[.contentType] = "application/x-x509-ca-cert"
        return response
    }

    /// The page uses sensors and works offline, but loads nothing from elsewhere.
    private static let pageHeaders = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                + "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        (
            "Permissions-Policy",
            "accelerometer=(self), gyroscope=(self), magnetometer=(self), geolocation=(self), screen-wake-lock=(self)"
        ),
    ]

    private var healthy: Response {
        var object = JSONObjectWriter()
        object.member("status", "ok")
        return Response(json: object.finish())
    }

    private func methodProblem(_ request: Request, allowed: String) -> Problem {
        Problem(
            status: 405, title: "Method not allowed",
            detail: "this resource does not support \(request.method.rawValue.prefix(40)): use \(allowed)",
            headers: ["Allow": allowed])
    }

    /// The page `/join`, its files in `/join/assets/…`, and other files beside `index.html`.
    private func page(_ target: RequestTarget, _ request: Request) async throws -> Response {
        guard let folder = configuration.pageFolder else {
            throw Problem.notFound(
                "the files of the page were not found: name their folder with --page when you start the gateway")
        }
        let name = target.segments.dropFirst().joined(separator: "/")
        guard name.isEmpty || name.utf8.starts(with: "assets/".utf8) else {
            throw Problem.notFound("there is no file '\(name.prefix(200))'")
        }
        var response = try await StaticFile.response(name.isEmpty ? "index.html" : name, in: folder, to: request)
        for (name, value) in Self.pageHeaders {
            if let name = HTTPField.Name(name) { response.headers[name] = value }
        }
        // The service worker of the page lies below the page that it serves.
        if name == "assets/offline.js", let field = HTTPField.Name("Service-Worker-Allowed") {
            response.headers[field] = "/join"
        }
        return response
    }

    // MARK: - Samples

    private func submit(
        _ request: Request, from client: Client, _ target: RequestTarget, _ path: String,
        _ adapter: any GatewayAdapter
    ) async throws -> Response {
        let user = try await user(of: request, path: path, from: client)
        let declared = request.headers[.contentLength].flatMap { Int($0) }
        let limit = configuration.limits.body * adapter.payloadFactor
        let encoding = request.headers[.contentEncoding].map { $0.lowercased() } ?? "identity"
        // The size of what a compressed body becomes is not known.
        let size = encoding == "identity" ? min(max(declared ?? limit, 0), limit) : limit
        guard let room = pending.reserve(size, for: user ?? client.limitKey) else {
            throw Problem.unavailable("too many requests wait for the disk: try again later", retryAfter: 1)
        }
        defer { withExtendedLifetime(room) {} }
        let body: [UInt8]
        do {
            body = try Self.unpack(try await request.body(upTo: limit), encoding, limit: limit)
        } catch let problem as Problem {
            logger.warning(
                "message refused",
                metadata: ["from": "\(path)", "reason": "malformed", "error": "\(problem.detail)"])
            return response(
                adapter.answer(to: .refused(Refusal(.malformed, problem.detail))), instead: problem,
                refusal: .malformed)
        }
        var query: [String: String] = [:]
        for (name, value) in target.query { query[name] = value }
        var headers: [String: String] = [:]
        for name in ["x-limit-u", "x-limit-d", "content-type"] {
            if let field = HTTPField.Name(name), let value = request.headers[field] { headers[name] = value }
        }
        let facts = HTTPFacts(path: path, query: query, headers: headers, user: user)
        let outcome = await accept(
            ForeignMessage(origin: .request(facts), payload: body, receivedAt: Moment.now().wall))
        let answer = adapter.answer(to: outcome)
        switch outcome {
        case .accepted: return response(answer)
        case .refused(let refusal):
            return response(answer, instead: problem(of: refusal, status: answer.status), refusal: refusal.kind)
        case .unavailable:
            throw Problem.unavailable("the outbox cannot be written at present: try again later")
        }
    }

    /// Returns a body without its compression.
    private static func unpack(_ body: [UInt8], _ encoding: String, limit: Int) throws -> [UInt8] {
        guard encoding != "identity" else { return body }
        guard ["gzip", "x-gzip", "deflate"].contains(encoding) else {
            throw Problem(
                status: 415, title: "Unsupported media type",
                detail: "the content encoding '\(encoding.prefix(40))' is unknown: use gzip or deflate, or none")
        }
        do { return try Inflate.unpack(body, limit: limit) } catch Inflate.Problem.tooLarge {
            throw Problem(
                status: 413, title: "Content too large",
                detail: "the body is too large when it is unpacked: the limit is \(limit) bytes")
        } catch {
            throw Problem(
                status: 400, title: "Bad request", detail: "the body is damaged, or not compressed with \(encoding)")
        }
    }

    /// Returns the authenticated user; nil if the server has no users.
    /// - Throws: ``Problem`` with status 401 or 429.
    private func user(of request: Request, path: String, from client: Client) async throws -> String? {
        guard let users = configuration.users else { return nil }
        let field = request.headers[.authorization]
        guard let field, let user = users.user(authorization: field) else {
            countRefusedLogin()
            let problem = Problem(
                status: 401, title: "Unauthorized",
                detail: "a user and a token are needed: send 'Authorization: Bearer TOKEN', or basic authentication "
                    + "with the token as password",
                headers: ["WWW-Authenticate": "Basic realm=\"lockstep\", Bearer realm=\"lockstep\""])
            throw try await refusedLogins.answer(
                problem, user: field.flatMap(GatewayUsers.name(authorization:)), hasLogin: field != nil, path: path,
                client: client)
        }
        return user
    }

    private func problem(of refusal: Refusal, status: Int) -> Problem {
        // Somebody has to raise a limit first.
        if status == 503 { return Problem.unavailable(refusal.description, retryAfter: 60) }
        let titles = [400: "Bad request", 403: "Forbidden", 409: "Conflict", 422: "Unprocessable content"]
        return Problem(status: status, title: titles[status] ?? "Refused", detail: refusal.description)
    }

    /// Returns the answer of a format. An error status has a problem document. A format that answers a refused message
    /// with 2xx, so that its app does not send it for ever, names the kind of refusal in a header field.
    private func response(_ answer: HTTPAnswer, instead problem: Problem? = nil, refusal: Refusal.Kind? = nil)
        -> Response
    {
        if answer.status >= 400, let problem { return Response(problem) }
        var response = Response(
            status: .init(code: answer.status), body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
        if let type = answer.contentType { response.headers[.contentType] = type }
        if let refusal, let name = HTTPField.Name("Lockstep-Refused") { response.headers[name] = refusal.rawValue }
        return response
    }
}
