import LockstepHTTP

/// The facts of a request that decide whether it is allowed.
struct Credentials: Hashable {
    /// The method, such as `GET`.
    var method = "GET"
    /// The field `Host`.
    var host: String?
    /// The field `Origin`.
    var origin: String?
    /// The field `Sec-Fetch-Site`.
    var fetchSite: String?
    /// The field `Sec-Fetch-Mode`.
    var fetchMode: String?
    /// The field `Authorization`.
    var authorization: String?
    /// All fields `Cookie`.
    var cookies: [String] = []
}

/// The rules that give rights to a request.
struct AccessPolicy: Sendable {
    /// The name of the cookie of a session.
    static let cookieName = "lockstep_session"

    /// The tokens, or nil if everyone on this machine has all rights.
    let tokens: AccessTokens?
    /// Whether the right to operate is removed.
    let isReadOnly: Bool
    /// Whether clients connect with TLS.
    let usesTLS: Bool
    /// The sessions of browsers; nil without tokens.
    private let sessions: Sessions?

    init(tokens: AccessTokens?, isReadOnly: Bool, usesTLS: Bool) {
        self.tokens = tokens
        self.isReadOnly = isReadOnly
        self.usesTLS = usesTLS
        sessions = tokens.map(Sessions.init)
    }

    /// Checks that no other site sent the request through the user's browser.
    /// - Throws: ``Problem`` if it must be refused.
    func checkSource(_ request: Credentials) throws(Problem) {
        let source = RequestSource(
            host: request.host, origin: request.origin, fetchSite: request.fetchSite, fetchMode: request.fetchMode)
        try source.check(isOpen: tokens == nil, usesTLS: usesTLS)
    }

    /// Returns the rights of a request; none if it has neither a valid token nor the cookie of a session.
    /// - Parameter now: the time in seconds since 1970.
    func rights(of request: Credentials, now: Int64) -> Rights {
        guard let tokens, let sessions else { return limited(.operate) }
        switch Self.login(of: request) {
        case .token(let token): return limited(tokens.rights(of: token))
        case .session(let cookie): return limited(sessions.rights(of: cookie, now: now))
        case .invalid, nil: return .none
        }
    }

    /// Returns whether a request has a token, valid or not, or tries to have one.
    ///
    /// Cookies do not count: nobody can guess one, and each open page sends the cookie of a session that has ended.
    func hasToken(_ request: Credentials) -> Bool { request.authorization != nil }

    /// Returns the rights of a token; none if it is unknown.
    func rights(ofToken token: String) -> Rights { tokens.map { limited($0.rights(of: token)) } ?? limited(.operate) }

    private func limited(_ rights: Rights) -> Rights { isReadOnly && rights == .operate ? .read : rights }

    private enum Login {
        case token(String)
        case session(String)
        case invalid
    }

    /// Returns the login in the field `Authorization`, or else in the cookie; nil if there is none.
    private static func login(of request: Credentials) -> Login? {
        if let authorization = request.authorization {
            let words = authorization.split(separator: " ")
            guard words.count == 2, words[0].lowercased() == "bearer" else { return .invalid }
            return .token(String(words[1]))
        }
        for cookie in request.cookies.flatMap({ $0.split(separator: ";") }) {
            let sides = cookie.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if sides.count == 2, !sides[1].isEmpty, sides[0].filter({ $0 != " " }) == cookieName {
                return .session(String(sides[1]))
            }
        }
        return nil
    }

    /// Begins a session, and returns the field `Set-Cookie` that stores it.
    /// - Parameter token: a valid token.
    func beginSession(token: String, now: Int64) -> String {
        cookie(sessions?.begin(token: token, now: now) ?? "", maxAge: Sessions.duration)
    }

    /// Ends the session of a request, if it has one, and returns the field `Set-Cookie` that removes it.
    func endSession(of request: Credentials, now: Int64) -> String {
        var request = request
        request.authorization = nil
        if case .session(let cookie)? = Self.login(of: request) { sessions?.end(cookie, now: now) }
        return cookie("", maxAge: 0)
    }

    private func cookie(_ value: String, maxAge: Int64) -> String {
        "\(Self.cookieName)=\(value); Path=/; HttpOnly; SameSite=Strict\(usesTLS ? "; Secure" : ""); Max-Age=\(maxAge)"
    }
}
