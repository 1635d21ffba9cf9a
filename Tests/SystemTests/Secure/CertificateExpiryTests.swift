import Foundation
import LockstepTestSupport
import Testing

@Suite(
    "Certificates that expire soon",
    .enabled(
        if: Programs.isInstalled("mosquitto") && Programs.isInstalled("openssl"),
        "mosquitto or openssl is not installed"))
struct CertificateExpiryTests {
    @Test("agent, collector and doctor warn of the broker's certificate and of the trusted authority")
    func warnings() async throws {
        try await withTemporaryFolder { folder in
            // It is valid for two days.
            let certificate = try await TestCertificate(in: folder)
            let port = try freePort()
            let listener = [
                "listener \(port) 127.0.0.1", "certfile \(certificate.certificate)", "keyfile \(certificate.key)",
            ]
            try await withSystem(brokerSettings: listener) { system in
                let url = "mqtts://localhost:\(port)"
                let trust = ["--ca-file", certificate.certificate]
                let collector = try system.startCollector(trust, url: url)
                let agent = try system.startAgent("walker", trust, url: url)
                for program in [collector, agent] {
                    for use in ["broker", "ca"] {
                        #expect(
                            await program.waitForOutput("certificate expires soon  certificate=\(use) days=1"),
                            "\(program.text)")
                    }
                }
                let client = try await system.connect()
                for topic in ["/$collector/main", "/presence"] {
                    await client.expectMessage { $0.topic.hasSuffix(topic) && $0.text.contains(#""certificates":{"#) }
                }
                let doctor = try await RunningProgram.run(
                    Programs.built("lockstep"), ["doctor", "--broker", url, "--seconds", "1"] + trust)
                #expect(doctor.text.contains("the broker's certificate expires in 1 day, on "), "\(doctor.text)")
            }
        }
    }
}
