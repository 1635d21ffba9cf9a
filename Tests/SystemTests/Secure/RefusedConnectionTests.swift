import Foundation
import LockstepMQTT
import LockstepTestSupport
import Testing

/// Unauthorised clients cannot connect, and their errors name the reason.
@Suite("Refused connections", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct RefusedConnectionTests {
    @Test("a client without TLS, without a certificate or with one that is not trusted or has expired is refused")
    func untrusted() async throws {
        try await withSecureBroker { broker in
            let run = try await RunningProgram.run(
                Programs.built("lockstep"), ["watch", "--seconds", "3", "--broker", "mqtt://localhost:\(broker.port)"])
            #expect(run.status == 1 && run.text.contains("if this port is for TLS, use mqtts://"), "\(run.text)")
            try await expectRefusal(
                of: broker.credentials.trusting, at: broker,
                "the broker requires a client certificate: add --cert-file and --key-file")
            let others = try await Credentials.make(in: broker.folder + "/others")
            try await others.add("walker")
            var stranger = others.tls("lab/walker")
            stranger.authorityFile = broker.credentials.authority
            try await expectRefusal(
                of: stranger, at: broker,
                "the broker does not trust the CA of the client certificate")
            var mistrustful = broker.credentials.tls("lab/walker")
            mistrustful.authorityFile = others.authority
            try await expectRefusal(
                of: mistrustful, at: broker,
                "the broker's certificate is not signed by a trusted CA: add its CA with --ca-file")
            var expired = broker.credentials.tls("lab/walker")
            expired.certificateFile = try await broker.credentials.expired("lab/walker")
            try await expectRefusal(
                of: expired, at: broker, "the client certificate has expired: renew the one in --cert-file")
        }
    }

    @Test("an agent refuses a broker with an expired certificate")
    func expiredBroker() async throws {
        try await withSecureBroker(starts: false) { broker in
            let expired = try await broker.credentials.expired("broker", "subjectAltName=DNS:localhost\n")
            try FileManager.default.removeItem(atPath: broker.credentials.path("broker") + ".pem")
            try FileManager.default.moveItem(atPath: expired, toPath: broker.credentials.path("broker") + ".pem")
            try await broker.start()
            try await expectRefusal(
                of: broker.credentials.tls("lab/walker"), at: broker, "the broker's certificate has expired")
        }
    }

    @Test("an agent refuses a broker with a certificate for another host")
    func wrongHost() async throws {
        try await withSecureBroker(starts: false) { broker in
            // A certificate without the host name that agents use.
            let certificate = try await broker.credentials.expired("broker")
            let run = try await RunningProgram.run(
                "/usr/bin/openssl",
                [
                    "x509", "-req", "-in", broker.credentials.path("broker") + ".request", "-CA",
                    broker.credentials.authority, "-CAkey", broker.credentials.folder + "/ca.key", "-set_serial", "12",
                    "-days", "9", "-extfile", try alternativeName("elsewhere.example", in: broker.folder), "-out",
                    certificate,
                ])
            #expect(run.status == 0, "\(run.text)")
            try FileManager.default.removeItem(atPath: broker.credentials.path("broker") + ".pem")
            try FileManager.default.moveItem(atPath: certificate, toPath: broker.credentials.path("broker") + ".pem")
            try await broker.start()
            try await expectRefusal(
                of: broker.credentials.tls("lab/walker"), at: broker,
                "the broker's certificate is not valid for 'localhost': use a name in the certificate")
        }
    }

    @Test("the broker accepts no cipher suites of TLS 1.2 without forward secrecy or with CBC")
    func weakCiphers() async throws {
        try await withSecureBroker { broker in
            let tls = broker.credentials.tls("lab/walker")
            for (ciphers, isAccepted) in [
                ("kRSA", false), ("ECDHE+AES:!AESGCM:!AESCCM", false), ("ECDHE+AESGCM", true),
            ] {
                let run = try await RunningProgram.run(
                    "/usr/bin/openssl",
                    [
                        "s_client", "-connect", "localhost:\(broker.port)", "-tls1_2", "-cipher",
                        ciphers + ":@SECLEVEL=0", "-brief", "-cert", tls.certificateFile ?? "", "-key",
                        tls.keyFile ?? "",
                    ])
                #expect(run.text.contains("CONNECTION ESTABLISHED") == isAccepted, "\(ciphers): \(run.text)")
            }
        }
    }

    @Test("a wrong or missing password is refused, and never printed")
    func wrongPassword() async throws {
        try await withSecureBroker(passwords: true) { broker in
            let options = ["--broker", broker.passwordURL] + broker.credentials.options(broker.credentials.trusting)
            let wrong = try broker.startAgent(
                "walker", options + ["--user", "lab/walker", "--log-level", "trace"],
                environment: ["LOCKSTEP_PASSWORD": "mistaken"])
            #expect(await wrong.waitForOutput("check user name, password", within: .seconds(120)), "\(wrong.text)")
            let arguments = try String(contentsOfFile: "/proc/\(wrong.pid)/cmdline", encoding: .utf8)
            #expect(arguments.contains("lab/walker") && !arguments.contains("mistaken"))
            await wrong.stop()
            #expect(!wrong.text.contains("mistaken"), "\(wrong.text)")
            let anonymous = try broker.startAgent("ant", options)
            #expect(
                await anonymous.waitForOutput("check user name, password", within: .seconds(120)), "\(anonymous.text)")
        }
    }

    @Test("an anonymous reader is refused on both ports")
    func anonymousReader() async throws {
        try await withSecureBroker(passwords: true) { broker in
            for (url, cause) in [
                (broker.url, "requires a client certificate"), (broker.passwordURL, "check user name, password"),
            ] {
                let run = try await RunningProgram.run(
                    Programs.built("lockstep"),
                    ["watch", "--broker", url] + broker.credentials.options(broker.credentials.trusting),
                    within: .seconds(120))
                #expect(run.status == 1)
                #expect(run.text.contains(cause), "\(run.text)")
            }
        }
    }

    private func expectRefusal(of tls: TLSOptions, at broker: SecureBroker, _ cause: String) async throws {
        let agent = try broker.startAgent("walker", ["--broker", broker.url] + broker.credentials.options(tls))
        #expect(await agent.waitForOutput(cause, within: .seconds(120)), "\(agent.text)")
        await agent.stop()
        #expect(!agent.text.contains("connected to"), "\(agent.text)")
    }

    private func alternativeName(_ host: String, in folder: String) throws -> String {
        let path = folder + "/extensions"
        try "subjectAltName=DNS:\(host)\n".write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}
