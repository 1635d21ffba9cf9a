import Foundation
import LockstepMQTT
import LockstepTestSupport
import Testing

@Suite("The production broker", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct SecureDeliveryTests {
    @Test("samples are delivered between clients that authenticate with certificates")
    func delivers() async throws {
        try await withSecureBroker { broker in
            let collector = try broker.startCollector()
            #expect(await collector.waitForOutput("connected to", within: .seconds(120)), "\(collector.text)")
            let reader = try await broker.connect(as: "reader")
            let agent = try broker.startAgent("walker", as: "lab/walker")
            #expect(
                await collector.waitForState("active", of: "lab/walker", within: .seconds(120)), "\(collector.text)")
            for channel in ["motion/accelerometer", "motion/device", "presence", "state", "ack"] {
                await reader.expectMessage(within: .seconds(120)) { $0.topic == "lockstep/lab/walker/\(channel)" }
            }
            await reader.expectMessage(within: .seconds(120)) {
                $0.topic.hasSuffix("/$collector/main")
            }
            // A clean stop shows that acknowledgements were delivered as well.
            await agent.stop()
            #expect(await collector.waitForState("terminated", within: .seconds(120)), "\(collector.text)")
            let verification = try await RunningProgram.run(
                Programs.built("lockstep"),
                [
                    "verify", "--store", "sqlite:\(broker.storePath)", "--journal",
                    "lab/walker=\(broker.folder)/walker.outbox",
                ])
            #expect(verification.status == 0, "\(verification.text)")
            for (text, trouble) in [(agent.text, "refused"), (collector.text, "refused")] {
                #expect(!text.contains(trouble), "\(text)")
            }
        }
    }

    @Test(
        "the commands of an operator and of lockstep-serve reach an agent, and a reader's command is refused with the reason"
    )
    func commands() async throws {
        try await withSecureBroker { broker in
            let agent = try broker.startAgent("walker", as: "lab/walker")
            #expect(await agent.waitForOutput("connected to", within: .seconds(120)), "\(agent.text)")
            for (user, status, part) in [
                ("operator", Int32(0), "motion/accelerometer"), ("serve", 0, "motion/accelerometer"),
                ("reader", 1, "refused a message"),
            ] {
                let run = try await RunningProgram.run(
                    Programs.built("lockstep"),
                    [
                        "command", "lab/walker", "--describe", "--timeout", "60s", "--config",
                        "\(broker.credentials.folder)/\(user).yaml", "--broker", broker.url,
                    ], within: .seconds(120))
                #expect(run.status == status, "\(user): \(run.text)")
                #expect(run.text.contains(part), "\(user): \(run.text)")
            }
        }
    }

    @Test(
        "the command that 'lockstep certs device' prints starts an agent, with a certificate and with a password",
        arguments: [false, true])
    func printedCommand(usesPassword: Bool) async throws {
        try await withSecureBroker(passwords: usesPassword) { broker in
            let url = usesPassword ? broker.passwordURL : broker.url
            let printed = try await broker.credentials.add(
                "ant", ["--broker", url] + (usesPassword ? ["--password"] : []))
            // Reload the broker's passwords.
            broker.broker?.signal(SIGHUP)
            let line = printed.split(separator: "\n").last.map(String.init) ?? ""
            let command = line.replacing("lockstep-agent", with: "exec lockstep-agent")
                .replacing("--source iio", with: "--source simulate --outbox \(broker.folder)/ant.outbox")
            #expect(command != line)
            let path = URL(fileURLWithPath: Programs.built("lockstep-agent")).deletingLastPathComponent().path
            let agent = try broker.run("/bin/bash", ["-c", command], environment: ["PATH": path + ":/usr/bin:/bin"])
            #expect(await agent.waitForOutput("connected to", within: .seconds(120)), "\(agent.text)")
            let reader = try await broker.connect(as: "reader")
            await reader.expectMessage(within: .seconds(120)) { $0.topic == "lockstep/lab/ant/motion/accelerometer" }
        }
    }

    @Test("the system's certificate authorities are trusted by default")
    func systemAuthorities() async throws {
        try await withSecureBroker { broker in
            var tls = broker.credentials.tls("lab/walker")
            tls.authorityFile = nil
            let agent = try broker.startAgent(
                "walker", ["--broker", broker.url] + broker.credentials.options(tls),
                environment: ["SSL_CERT_FILE": broker.credentials.authority])
            #expect(await agent.waitForOutput("connected to", within: .seconds(120)), "\(agent.text)")
        }
    }
}
