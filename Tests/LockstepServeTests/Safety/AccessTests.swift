import Glibc
import LockstepHTTP
import LockstepMQTT
import NIOCore
import Testing

@testable import LockstepServe

@Suite("Rights of clients")
struct AccessTests {
    private static let reader = "reader-token-0123456789"
    private static let operatorToken = "operator-token-0123456789"

    private func policy(isReadOnly: Bool = false, usesTLS: Bool = false) throws -> AccessPolicy {
        let tokens = try AccessTokens(parsing: "# people\nread \(Self.reader)\n\n operate\t\(Self.operatorToken) \r\n")
        return AccessPolicy(tokens: tokens, isReadOnly: isReadOnly, usesTLS: usesTLS)
    }

    @Test("a token gives the rights of its line in the header, and those of its session in the cookie")
    func tokens() throws {
        let policy = try policy()
        func rights(_ credentials: Credentials) -> Rights { policy.rights(of: credentials, now: 1000) }
        #expect(rights(Credentials(authorization: "Bearer \(Self.reader)")) == .read)
        #expect(rights(Credentials(authorization: "bearer \(Self.operatorToken)")) == .operate)
        let pair = try #require(policy.beginSession(token: Self.operatorToken, now: 1000).split(separator: ";").first)
        let session = Credentials(cookies: ["a=b; \(pair)"])
        #expect(rights(session) == .operate)
        #expect(rights(Credentials(cookies: ["lockstep_session=\(Self.operatorToken)"])) == .none)
        #expect(policy.endSession(of: session, now: 1000).contains("Max-Age=0"))
        #expect(rights(session) == .none)
        for wrong in [
            "", "Bearer", "Bearer \(Self.reader)x", "Basic \(Self.reader)", "Bearer \(Self.reader.dropLast())",
        ] {
            #expect(rights(Credentials(authorization: wrong)) == .none)
            #expect(policy.hasToken(Credentials(authorization: wrong)))
        }
        #expect(!policy.hasToken(Credentials(cookies: ["lockstep_session=of-yesterday"])))
        for none in [Credentials(), Credentials(cookies: ["lockstep_session=", "lockstep_session"])] {
            #expect(rights(none) == .none && !policy.hasToken(none))
        }
    }

    @Test("--read-only removes the right to operate, with and without tokens")
    func readOnly() throws {
        #expect(
            try policy(isReadOnly: true).rights(
                of: Credentials(authorization: "Bearer \(Self.operatorToken)"), now: 0) == .read)
        #expect(AccessPolicy(tokens: nil, isReadOnly: true, usesTLS: false).rights(of: Credentials(), now: 0) == .read)
    }

    @Test(
        "invalid token files are refused without showing a token",
        arguments: [
            "", "# none\n", "read short", "write 0123456789abcdef", "read 0123456789abcdef x", "read 0123456789abcde;f",
        ])
    func invalidFiles(_ text: String) {
        do {
            _ = try AccessTokens(parsing: text)
            Issue.record("accepted")
        } catch { #expect(!error.description.contains("0123456789abcde")) }
    }

    @Test("without tokens, only names and addresses of this machine are answered")
    func hosts() {
        let policy = AccessPolicy(tokens: nil, isReadOnly: false, usesTLS: false)
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.1.2.3", "[::1]:8080"] {
            #expect(throws: Never.self) { try policy.checkSource(Credentials(host: host)) }
        }
        for host in [
            "evil.example", "127.0.0.1.evil.example", "localhost.evil", "10.0.0.1", "127.0.0.1:x", "", "[::2]",
        ] {
            #expect(throws: Problem.self) { try policy.checkSource(Credentials(host: host)) }
        }
        #expect(throws: Problem.self) { try policy.checkSource(Credentials(host: nil)) }
    }

    @Test("requests from pages of other sites are refused")
    func origins() throws {
        let policy = AccessPolicy(tokens: nil, isReadOnly: false, usesTLS: false)
        func check(_ origin: String?, _ site: String? = nil, _ mode: String? = nil) -> Bool {
            do {
                try policy.checkSource(
                    Credentials(host: "localhost:8080", origin: origin, fetchSite: site, fetchMode: mode))
                return true
            } catch { return false }
        }
        #expect(check(nil) && check("http://localhost:8080") && check(nil, "same-origin") && check(nil, "none"))
        #expect(check(nil, "cross-site", "navigate"))
        for origin in ["null", "http://localhost", "http://localhost:8081", "https://localhost:8080", "http://evil"] {
            #expect(!check(origin))
        }
        #expect(!check(nil, "cross-site", "no-cors") && !check(nil, "same-site", "cors"))
    }

    @Test("the cookie cannot be read by scripts, and is sent only with TLS if the server uses it")
    func cookie() throws {
        let plain = try policy().beginSession(token: Self.reader, now: 0)
        #expect(plain.contains("HttpOnly") && plain.contains("SameSite=Strict") && !plain.contains("Secure"))
        #expect(try policy(usesTLS: true).beginSession(token: Self.reader, now: 0).contains("; Secure"))
        #expect(try policy().endSession(of: Credentials(), now: 0).contains("Max-Age=0"))
    }

    @Test("equal bytes are found whatever their lengths")
    func comparison() {
        #expect(hasEqualBytes([1, 2], [1, 2]) && hasEqualBytes([], []))
        #expect(!hasEqualBytes([1, 2], [1, 3]) && !hasEqualBytes([1, 2], [1, 2, 1, 2]) && !hasEqualBytes([], [0]))
    }

    @Test("only the origin of the tiles is another source of images")
    func contentPolicy() {
        let policy = SecurityHeaders(tiles: "https://{s}.tile.example/{z}/{x}/{y}.png?k=1").fields[0].value
        #expect(policy.contains("img-src 'self' data: https://*.tile.example;"))
        #expect(policy.contains("default-src 'none'"))
        #expect(SecurityHeaders.origin("https://a; script-src *") == nil)
        #expect(SecurityHeaders.origin("javascript:x") == nil)
    }

    @Test("the address of a gateway gets the path of its page, and may not contain a token")
    func joinAddress() {
        #expect(ServeConfiguration.joinURL("https://h:8443") == "https://h:8443/join")
        #expect(ServeConfiguration.joinURL("http://[::1]:80/#group=a") == "http://[::1]:80/join#group=a")
        #expect(ServeConfiguration.joinURL("https://h/gate/join#group=a") == "https://h/gate/join#group=a")
        for wrong in [
            "h:8443", "https://", "https:///join", "javascript:x", "https://h/ x", "https://u@h/", "https://h/?a=b",
            "https://h/join#token=x", "https://h/join#group=a&token=x", "https://h/\"", "https://ü",
        ] {
            #expect(ServeConfiguration.joinURL(wrong) == nil, "\(wrong)")
        }
    }

    @Test(
        "an address that cannot be used is explained",
        arguments: [
            (EADDRINUSE, "another program uses this port"), (EADDRNOTAVAIL, "this machine does not have this address"),
            (EACCES, "this user may not use this port"),
        ])
    func unusableAddress(_ code: Int32, _ reason: String) throws {
        let error = ServerError.explaining(IOError(errnoCode: code, reason: "bind"), at: .standard)
        #expect("\(error)".hasPrefix("--listen 127.0.0.1:8080: \(reason)"))
    }

    @Test("another address than those of this machine needs tokens")
    func listening() throws {
        var configuration = ServeConfiguration(broker: .init(host: "localhost", port: 1883))
        #expect(configuration.safetyProblem == nil)
        for text in ["0.0.0.0:80", "[::]:80", "192.168.1.2:8080", "example.org:80"] {
            configuration.listen = try #require(ListenAddress(text))
            #expect(configuration.safetyProblem?.contains("--token-file") == true)
        }
        configuration.tokens = try AccessTokens(parsing: "read 0123456789abcdef")
        #expect(configuration.safetyProblem == nil)
        for text in ["8080", "localhost:1", "[::1]:8080", "127.9.9.9:1"] {
            #expect(ListenAddress(text)?.isLoopback == true)
        }
        for text in ["", "x", "1.2.3.4", "::1:80x", "99999", "a b:1"] { #expect(ListenAddress(text) == nil) }
    }
}
