import CSodium
import LockstepHTTP
import LockstepModel
import Synchronization

/// The sessions of browsers that have signed in with a token.
///
/// The value of the cookie does not contain the token: it has a random number, the end of the session, and the HMAC of
/// both, whose key is the token. So the server needs to keep nothing, and a restart signs nobody out; but without its token
/// in the file, no session is valid. Sessions that were ended are remembered until their end, or until a restart.
final class Sessions: Sendable {
    /// The duration of a session in seconds.
    static let duration: Int64 = 30 * 86_400
    /// The maximum number of ended sessions that are remembered.
    static let maxEnded = 10_000

    private let tokens: AccessTokens
    /// The ends of the sessions that were ended before, in seconds since 1970, keyed by their random numbers.
    private let ended = Mutex<[String: Int64]>([:])

    init(_ tokens: AccessTokens) { self.tokens = tokens }

    /// Returns the value of the cookie of a new session.
    /// - Parameters:
    ///   - token: a valid token.
    ///   - now: the time in seconds since 1970.
    func begin(token: String, now: Int64) -> String {
        var random = SystemRandomNumberGenerator()
        let number = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }.hexadecimal
        let facts = "\(number).\(now + Self.duration)"
        return "\(facts).\(Self.seal(facts, Array(token.utf8)))"
    }

    /// Returns the rights of a session; none if the value is invalid, or if the session has ended.
    func rights(of cookie: some StringProtocol, now: Int64) -> Rights {
        guard let session = Session(cookie), now < session.end, session.end <= now + Self.duration else { return .none }
        guard ended.withLock({ $0[session.number] == nil }) else { return .none }
        let seal = Array(session.seal.utf8)
        return tokens.rights { token in hasEqualBytes(Array(Self.seal(session.facts, token).utf8), seal) }
    }

    /// Ends a session, if the value is valid.
    func end(_ cookie: some StringProtocol, now: Int64) {
        guard let session = Session(cookie), rights(of: cookie, now: now).allows(.read) else { return }
        ended.withLock { ended in
            if ended.count >= Self.maxEnded { ended = ended.filter { $0.value > now } }
            // The session that would end first is the least useful one for a thief.
            if ended.count >= Self.maxEnded, let first = ended.min(by: { $0.value < $1.value }) {
                ended[first.key] = nil
            }
            ended[session.number] = session.end
        }
    }

    /// The parts of a cookie's value.
    private struct Session {
        let number: String
        let end: Int64
        let facts: String
        let seal: String

        init?(_ cookie: some StringProtocol) {
            let parts = cookie.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0].utf8.count == 32, let end = Int64(parts[1]) else { return nil }
            number = String(parts[0])
            self.end = end
            facts = "\(parts[0]).\(parts[1])"
            seal = String(parts[2])
        }
    }

    /// Returns the hexadecimal HMAC-SHA256 of the facts of a session.
    private static func seal(_ facts: String, _ token: [UInt8]) -> String {
        // The prefix keeps the purpose apart: a session is valid for nothing else.
        let message = Array("lockstep session \(facts)".utf8)
        var state = crypto_auth_hmacsha256_state()
        var digest = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_bytes()))
        crypto_auth_hmacsha256_init(&state, token, token.count)
        crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        crypto_auth_hmacsha256_final(&state, &digest)
        return digest.hexadecimal
    }
}
