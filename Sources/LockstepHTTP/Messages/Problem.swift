import LockstepWire

/// An error answer as a problem document of RFC 9457.
public struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The HTTP status code.
    public let status: Int
    /// The short text of this kind of problem, the same for all its occurrences.
    public let title: String
    /// What happened, and what to do.
    public let detail: String
    /// Additional header fields of the answer, such as `Allow`.
    public var headers: [String: String] = [:]

    /// Creates a problem.
    public init(status: Int, title: String, detail: String, headers: [String: String] = [:]) {
        self.status = status
        self.title = title
        self.detail = detail
        self.headers = headers
    }

    /// The title and the detail.
    public var description: String { "\(title): \(detail)" }

    /// The problem document in JSON.
    public var json: [UInt8] {
        var object = JSONObjectWriter()
        object.member("type", "about:blank")
        object.member("title", title)
        object.member("status", Int64(status))
        object.member("detail", detail)
        return object.finish()
    }
}

extension Problem {
    /// A parameter or a body that the client must correct.
    package static func badRequest(_ detail: String) -> Problem {
        Problem(status: 400, title: "Bad request", detail: detail)
    }

    /// A request without a valid token.
    package static func unauthorized(_ detail: String) -> Problem {
        Problem(
            status: 401, title: "Unauthorized", detail: detail,
            headers: ["WWW-Authenticate": "Bearer realm=\"lockstep\""])
    }

    /// A request that the client has no right to.
    package static func forbidden(_ detail: String) -> Problem {
        Problem(status: 403, title: "Forbidden", detail: detail)
    }

    /// A path, device or stream that does not exist.
    package static func notFound(_ detail: String) -> Problem {
        Problem(status: 404, title: "Not found", detail: detail)
    }

    /// A temporary lack of the broker, the store or of capacity.
    package static func unavailable(_ detail: String, retryAfter seconds: Int = 5) -> Problem {
        Problem(
            status: 503, title: "Service unavailable", detail: detail, headers: ["Retry-After": "\(seconds)"])
    }

    /// More requests or connections of one client than are allowed.
    package static func tooManyRequests(_ detail: String, retryAfter seconds: Int = 5) -> Problem {
        Problem(status: 429, title: "Too many requests", detail: detail, headers: ["Retry-After": "\(seconds)"])
    }
}
