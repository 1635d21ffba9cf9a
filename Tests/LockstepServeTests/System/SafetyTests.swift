import Foundation
import LockstepHTTP
import LockstepTestSupport
import Testing

@Suite("Safety of lockstep-serve")
struct SafetyTests {
    private static let reader = "reader-token-0123456789"
    private static let operatorToken = "operator-token-0123456789"

    private func tokenFile(in folder: String, mode: Int = 0o600) throws -> String {
        let path = folder + "/tokens"
        try "read \(Self.reader)\noperate \(Self.operatorToken)\n".write(
            toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    @Test("a token gives its rights, in the header or in a cookie")
    func rights() async throws {
        try await withSystem { system in
            let server = try await TestServer(system, ["--token-file", try tokenFile(in: system.folder)])
            #expect(
                try await server.get("/api/v1/session").body.contains(#""token_required":true,"authenticated":false"#))
            for path in ["/api/v1/devices", "/api/v1/system", "/metrics", "/api/v1/live?device=*", "/api/v1/states"] {
                let answer = try await server.get(path)
                #expect(
                    answer.status == 401 && answer.headers["www-authenticate"]?.hasPrefix("Bearer") == true, "\(path)")
            }
            #expect(try await server.get("/healthz").status == 200)
            let ready = try await server.get("/readyz")
            #expect(ready.status == 503 && ready.detail.contains("the store") && !ready.detail.contains(system.folder))
            let bearer = ["-H", "Authorization: Bearer \(Self.reader)"]
            #expect(try await server.get("/api/v1/devices", bearer).status == 200)
            let command = "/api/v1/devices/g/a/commands"
            #expect(try await server.post(command, #"{"flush":true}"#).status == 401)
            #expect(try await server.post(command, #"{"flush":true}"#, bearer).status == 403)
            let operate = ["-H", "Authorization: Bearer \(Self.operatorToken)"]
            #expect(try await server.post(command, #"{"flush":true}"#, operate).status == 404)

            #expect(try await server.post("/api/v1/session", #"{"token":"wrong-token-0123456789"}"#).status == 401)
            let signIn = try await server.post("/api/v1/session", #"{"token":"\#(Self.reader)"}"#)
            let cookie = try #require(signIn.headers["set-cookie"])
            #expect(signIn.status == 204 && cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
            let pair = try #require(cookie.split(separator: ";").first)
            #expect(
                try await server.get("/api/v1/session", ["-H", "Cookie: \(pair)"]).body.contains(#""rights":["read"]"#))
            #expect(try await server.get("/api/v1/devices", ["-H", "Cookie: \(pair)"]).status == 200)
            #expect(!pair.contains(Self.reader))
            let signOut = try await server.get("/api/v1/session", ["--request", "DELETE", "-H", "Cookie: \(pair)"])
            #expect(signOut.status == 204 && signOut.headers["set-cookie"]?.contains("Max-Age=0") == true)
            #expect(try await server.get("/api/v1/devices", ["-H", "Cookie: \(pair)"]).status == 401)
            #expect(!server.program.text.contains(Self.reader))
        }
    }

    @Test("wrong tokens are logged, counted and slowed down, also where no token is needed, and valid ones pass")
    func wrongTokens() async throws {
        try await withSystem { system in
            let server = try await TestServer(
                system,
                ["--token-file", try tokenFile(in: system.folder), "--trusted-proxy", "127.0.0.1"])
            let client = ["-H", "X-Forwarded-For: 192.0.2.9"]
            let wrong = client + ["-H", "Authorization: Bearer wrong-token-0123456789"]
            for index in 0..<20 {
                // One of these paths shows whether a token is valid, and another one is the sign-in.
                switch index % 3 {
                case 0: #expect(try await server.get("/api/v1/devices", wrong).status == 401)
                case 1: #expect(try await server.get("/api/v1/session", wrong).status == 200)
                default:
                    let body = #"{"token":"wrong-token-0123456789"}"#
                    #expect(try await server.post("/api/v1/session", body, client).status == 401)
                }
            }
            let slowed = try await server.get("/api/v1/session", wrong)
            #expect(slowed.status == 429 && slowed.headers["retry-after"] != nil)
            let valid = ["-H", "Authorization: Bearer \(Self.reader)"]
            #expect(try await server.get("/api/v1/devices", client + valid).status == 200)
            let other = ["-H", "X-Forwarded-For: 192.0.2.8", "-H", "Authorization: Bearer wrong-token-0123456789"]
            #expect(try await server.get("/api/v1/devices", other).status == 401)
            #expect(
                try await server.get("/metrics", valid).body.contains("\nlockstep_serve_logins_refused_total 22\n"))
            let lines = server.program.text.split(separator: "\n").filter { $0.contains("login refused") }
            #expect((1...10).contains(lines.count) && lines[0].contains("address=192.0.2.9"), "\(server.program.text)")
        }
    }

    @Test("--read-only removes the right to send commands")
    func readOnly() async throws {
        try await withSystem { system in
            let server = try await TestServer(system, ["--read-only"])
            #expect(try await server.get("/api/v1/session").body.contains(#""rights":["read"]"#))
            let answer = try await server.post("/api/v1/devices/g/a/commands", #"{"flush":true}"#)
            #expect(answer.status == 403 && answer.detail.contains("--read-only"))
        }
    }

    @Test("other names of this machine and pages of other sites are refused without tokens")
    func otherSites() async throws {
        try await withSystem { system in
            let server = try await TestServer(system)
            #expect(try await server.get("/api/v1/devices", ["-H", "Host: evil.example:\(server.port)"]).status == 421)
            #expect(try await server.get("/", ["-H", "Host: evil.example"]).status == 421)
            #expect(try await server.get("/api/v1/devices", ["-H", "Host: localhost:\(server.port)"]).status == 200)
            #expect(try await server.get("/api/v1/devices", ["-H", "Origin: http://evil.example"]).status == 403)
            #expect(try await server.get("/api/v1/devices", ["-H", "Origin: \(server.url)"]).status == 200)
            #expect(try await server.get("/api/v1/states", ["-H", "Sec-Fetch-Site: cross-site"]).status == 403)
            let command = try await server.post(
                "/api/v1/devices/g/a/commands", #"{"flush":true}"#, ["-H", "Origin: null"])
            #expect(command.status == 403)
        }
    }

    @Test("unsafe settings are refused with the reason")
    func refusals() async throws {
        try await withTemporaryFolder { folder in
            let open = try tokenFile(in: folder, mode: 0o644)
            let cases: [(arguments: [String], text: String)] = [
                (["--listen", "0.0.0.0:0"], "--token-file"), (["--listen", "[::]:0"], "--token-file"),
                (["--token-file", open], "chmod 600"), (["--token-file", folder + "/none"], "cannot read"),
                (["--server-cert-file", open], "must be used together"), (["--listen", "x"], "not an address"),
                (["--tiles", "javascript:x"], "not an address of tiles"), (["--page", folder], "index.html"),
                (["--join-url", "https://h/join#token=x"], "not the address of a gateway"),
                (["--store", "x.db"], "use 'sqlite:x.db'"), (["--max-connections", "0"], "whole number"),
                (["--trusted-proxy", "proxy"], "not a list of addresses"), (["--max-unsent", "1K"], "at least 1M"),
            ]
            for (arguments, text) in cases {
                let run = try await RunningProgram.run(Programs.built("lockstep-serve"), arguments)
                #expect(run.status != 0 && run.text.contains(text), "\(arguments): \(run.text)")
            }
        }
    }

    @Test("TLS protects the connection, and its cookie is sent only with TLS")
    func tls() async throws {
        try await withSystem { system in
            let files = try await TestCertificate(in: system.folder)
            let (certificate, key) = (files.certificate, files.key)
            let server = try await TestServer(
                system,
                [
                    "--server-cert-file", certificate, "--server-key-file", key, "--token-file",
                    try tokenFile(in: system.folder),
                ], listen: "0.0.0.0:0")
            #expect(server.scheme == "https")
            #expect(try await server.get("/healthz", ["--cacert", certificate]).status == 200)
            await #expect(throws: (any Error).self) { try await server.get("/healthz") }
            let answer = try await server.post(
                "/api/v1/session", #"{"token":"\#(Self.operatorToken)"}"#, ["--cacert", certificate])
            #expect(answer.headers["set-cookie"]?.contains("; Secure") == true)
            // Without forward secrecy, and with CBC.
            for (ciphers, isAccepted) in [
                ("kRSA", false), ("ECDHE+AES:!AESGCM:!AESCCM", false), ("ECDHE+AESGCM", true),
            ] {
                let handshake = try await RunningProgram.run(
                    "/usr/bin/openssl",
                    [
                        "s_client", "-connect", "127.0.0.1:\(server.port)", "-tls1_2", "-cipher",
                        ciphers + ":@SECLEVEL=0", "-brief",
                    ])
                #expect(
                    handshake.text.contains("CONNECTION ESTABLISHED") == isAccepted, "\(ciphers): \(handshake.text)")
            }
            let plain = try RawConnection(port: server.port)
            plain.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(!plain.read().contains("200 OK"))
        }
    }

    @Test("a key that does not belong to the certificate is refused, and the error names both files")
    func otherKey() async throws {
        try await withTemporaryFolder { folder in
            let own = try await TestCertificate(in: folder)
            let other = try await TestCertificate("other", in: folder)
            let address = try #require(ListenAddress("127.0.0.1:0"))
            let error = await #expect(throws: ServerError.self) {
                try await HTTPListener.check(address, tls: (own.certificate, other.key))
            }
            #expect(
                error?.description.hasPrefix(
                    "cannot use the certificate \(own.certificate) with the key \(other.key): check that they belong")
                    == true, "\(error?.description ?? "")")
            try await HTTPListener.check(address, tls: (own.certificate, own.key))
        }
    }

    @Test("lockstep serve executes lockstep-serve with its arguments")
    func command() async throws {
        let run = try await RunningProgram.run(Programs.built("lockstep"), ["serve", "--listen", "0.0.0.0:0"])
        #expect(run.status != 0 && run.text.contains("--token-file"))
        try await withTemporaryFolder { folder in
            // Alone in its folder, with a PATH without the server.
            try FileManager.default.copyItem(atPath: Programs.built("lockstep"), toPath: folder + "/lockstep")
            let missing = try await RunningProgram.run(folder + "/lockstep", ["serve"], environment: ["PATH": folder])
            #expect(missing.status != 0 && missing.text.contains("lockstep-serve") && missing.text.contains("install"))
        }
    }
}
