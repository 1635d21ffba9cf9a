import Testing

@testable import LockstepServe

@Suite("Sessions")
struct SessionTests {
    private static let reader = "reader-token-0123456789"
    private static let operatorToken = "operator-token-0123456789"
    private static let now: Int64 = 1_700_000_000

    private func sessions(_ lines: String = "read \(reader)\noperate \(operatorToken)") throws -> Sessions {
        Sessions(try AccessTokens(parsing: lines))
    }

    @Test("a session has the rights of its token, but its cookie does not contain the token")
    func rights() throws {
        let sessions = try sessions()
        let cookie = sessions.begin(token: Self.operatorToken, now: Self.now)
        #expect(sessions.rights(of: cookie, now: Self.now) == .operate)
        #expect(sessions.rights(of: sessions.begin(token: Self.reader, now: Self.now), now: Self.now) == .read)
        #expect(
            !cookie.contains(Self.operatorToken) && cookie != sessions.begin(token: Self.operatorToken, now: Self.now))
        // Neither is valid as the other.
        #expect(sessions.rights(of: Self.operatorToken, now: Self.now) == .none)
    }

    @Test("a session survives a restart, but not its end, its token's removal or any change")
    func ends() throws {
        let cookie = try sessions().begin(token: Self.reader, now: Self.now)
        #expect(try sessions().rights(of: cookie, now: Self.now + Sessions.duration - 1) == .read)
        #expect(try sessions().rights(of: cookie, now: Self.now + Sessions.duration) == .none)
        #expect(try sessions("operate \(Self.operatorToken)").rights(of: cookie, now: Self.now) == .none)
        let parts = cookie.split(separator: ".").map(String.init)
        let end = try #require(Int64(parts[1]))
        for wrong in [
            "", "..", cookie + "0", String(cookie.dropLast()), "0" + cookie.dropFirst() + "x",
            "\(parts[0]).\(end + 1).\(parts[2])", "\(String(repeating: "0", count: 32)).\(end).\(parts[2])",
            "\(parts[0]).\(end).", "\(parts[0]).\(parts[2])",
        ] {
            #expect(try sessions().rights(of: wrong, now: Self.now + 2) == .none, "\(wrong)")
        }
    }

    @Test("a session that was ended is not valid any more, and the other sessions of its token are")
    func signOut() throws {
        let sessions = try sessions()
        let cookies = (0..<2).map { _ in sessions.begin(token: Self.reader, now: Self.now) }
        sessions.end(cookies[0], now: Self.now)
        sessions.end("x", now: Self.now)
        #expect(cookies.map { sessions.rights(of: $0, now: Self.now) } == [.none, .read])
    }
}
