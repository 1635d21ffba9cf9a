import Foundation
import LockstepMQTT
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@Suite("Requests to a running agent")
struct RequestSystemTests {
    private static let command = "lockstep/default/walker/command"

    private func replies(_ client: TestClient) -> [String] {
        client.messages.filter { $0.topic == Self.command + "/reply" }.map(\.text)
    }

    /// The intervals between gyroscope samples, in µs, in the messages that `client` received from `index` on.
    private func intervals(_ client: TestClient, from index: Int) throws -> Set<Int64> {
        let batches = client.messages.dropFirst(index).filter { $0.topic.hasSuffix("motion/gyroscope") }
        return try Set(
            batches.flatMap { message in
                let times = try BatchJSON.decode(Data(message.payload), stream: .gyroscope).samples.times
                return zip(times.dropFirst(), times).map { $0 - $1 }
            })
    }

    @Test("a lease raises a rate until it expires")
    func lease() async throws {
        try await withSystem { system in
            let client = try await system.connect()
            _ = try system.startAgent("walker", ["--rate", "motion/gyroscope=20"])
            await client.expectMessage { $0.topic.hasSuffix("motion/gyroscope") }
            let before = try intervals(client, from: 0)
            #expect(before.isSubset(of: [50_000]))
            let request = #"{"id":"7","rate":{"stream":"motion/gyroscope","hz":200,"lease_s":2}}"#
            let isSent = await client.publish(Self.command, Array(request.utf8))
            #expect(isSent)
            await client.expectMessage { $0.topic == Self.command + "/reply" }
            let reply = try ReplyJSON.decode(Data(try #require(replies(client).first).utf8))
            #expect(reply.id == "7")
            guard case .leased(let stream, let rate, let until) = reply.outcome else {
                Issue.record("\(reply)")
                return
            }
            #expect(stream == .gyroscope && rate == 200 && until != nil)
            let leased = client.messages.count
            await expectEventually { (try? intervals(client, from: leased).contains(5000)) == true }
            await expectEventually {
                // Two consecutive batches at the old rate again.
                let tail = client.messages.filter { $0.topic.hasSuffix("motion/gyroscope") }.suffix(2)
                let steps = tail.compactMap {
                    try? BatchJSON.decode(Data($0.payload), stream: .gyroscope).samples.times
                }.flatMap { zip($0.dropFirst(), $0).map { $0 - $1 } }
                return !steps.isEmpty && steps.allSatisfy { $0 == 50_000 }
            }
        }
    }

    @Test("a command whose connection is lost is sent again after a reconnect, and performed once")
    func reconnect() async throws {
        try await withSystem { system in
            let before = try await system.connect([Self.command])
            let command = try system.start(
                "lockstep",
                [
                    "command", "walker", "--rate", "gyroscope=200", "--lease", "1h", "--timeout", "60s", "--json",
                    "--broker", system.broker.url,
                ])
            let sent = await before.waitForMessage { $0.topic == Self.command }
            let request = try #require(sent)
            // No agent has answered yet when the broker loses its connections. The command continues only after the
            // new client has subscribed, so that the client receives what the command sends.
            command.signal(SIGSTOP)
            await system.broker.stop()
            try await system.broker.start()
            let client = try await system.connect([Self.command + "/#"])
            command.signal(SIGCONT)
            await client.expectMessage { $0.topic == Self.command && $0.payload == request.payload }

            // The agent receives the request more than once.
            let agent = try system.startAgent("walker")
            #expect(await agent.waitForOutput("connected to"))
            await expectEventually {
                // The agent subscribes after it has connected.
                _ = await client.publish(Self.command, request.payload)
                return replies(client).count >= 2
            }
            #expect(Set(replies(client)).count == 1, "\(replies(client))")
            #expect(await command.waitForExit() == 0)
            let reply = try #require(replies(client).first)
            #expect(command.text == reply + "\n", "\(command.text)")
        }
    }

    @Test("lockstep command sends a request and prints the reply")
    func program() async throws {
        try await withSystem { system in
            let client = try await system.connect()
            _ = try system.startAgent("walker")
            await client.expectMessage { $0.topic.hasSuffix("motion/gyroscope") }
            func ask(_ arguments: String...) async throws -> (status: Int32, text: String) {
                try await RunningProgram.run(
                    Programs.built("lockstep"), ["command", "walker", "--broker", system.broker.url] + arguments)
            }
            let described = try await ask("--describe")
            #expect(described.status == 0)
            #expect(described.text.contains("motion/accelerometer  source  g\n"))
            let leased = try await ask("--rate", "gyroscope=200", "--lease", "5m")
            #expect(leased.text.hasPrefix("motion/gyroscope is published at 200 Hz, leased until "))
            let phase = try await ask("--phase", "inactive", "--json")
            #expect(phase.text.hasSuffix("\"ok\":true,\"phase\":\"inactive\"}\n"))
            let flushed = try await ask("--flush")
            #expect(flushed.text.hasSuffix(" written to the outbox and published\n"), "\(flushed.text)")
            let none = try await ask("--rate", "nose=3")
            #expect(none.status != 0 && none.text.contains("unknown stream 'nose'"))
            let nobody = try await RunningProgram.run(
                Programs.built("lockstep"),
                ["command", "lab/nobody", "--flush", "--timeout", "300ms", "--broker", system.broker.url])
            #expect(nobody.status == 1)
            #expect(nobody.text.contains("no device 'lab/nobody' at this broker"))
        }
    }
}
