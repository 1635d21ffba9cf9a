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
    /// The name of the cookie with the token.
    static let cookieName = "lockstep_session"

    /// The tokens, or nil if everyone on this machine has all rights.
    let tokens: AccessTokens?
    /// Whether the right to operate is removed.
    let isReadOnly: Bool
    /// Whether clients connect with TLS.
    let usesTLS: Bool

    /// Checks that no other site sent the request through the user's browser.
    /// - Throws: ``Problem`` if it must be refused.
    func checkSource(_ request: Credentials) throws(Problem) {
        let source = RequestSource(
            host: request.host, origin: request.origin, fetchSite: request.fetchSite, fetchMode: request.fetchMode)
        try source.check(isOpen: tokens == nil, usesTLS: usesTLS)
    }

    /// Returns the rights of a request; none if it has no valid token.
    func rights(of request: Credentials) -> Rights {
        guard let tokens else { return limited(.operate) }
        guard let token = Self.token(of: request) else { return .none }
        return limited(tokens.rights(of: token))
    }

    /// Returns the rights of a token; none if it is unknown.
    func rights(ofToken token: String) -> Rights { tokens.map { limited($0.rights(of: token)) } ?? limited(.operate) }

    private func limited(_ rights: Rights) -> Rights { isReadOnly && rights == .operate ? .read : rights }

    /// Returns the token in the field `Authorization`, or else in the cookie.
    private static func token(of request: Credentials) -> String? {
        if let authorization = request.authorization {
            let words = authorization.split(separator: " ")
            guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
            return String(words[1])
        }
        for cookie in request.cookies.flatMap({ $0.split(separator: ";") }) {
            let sides = cookie.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if sides.count == 2, sides[0].filter({ $0 != " " }) == cookieName { return String(sides[1]) }
        }
        return nil
    }

    /// Returns the field `Set-Cookie` that stores a token, or removes it.
    func cookie(token: String?) -> String {
        "\(Self.cookieName)=\(token ?? ""); Path=/; HttpOnly; SameSite=Strict\(usesTLS ? "; Secure" : "")"
            + "; Max-Age=\(token == nil ? 0 : 2_592_000)"
    }
}
