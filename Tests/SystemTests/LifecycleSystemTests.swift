import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import LockstepWire
import Testing

@Suite("Life cycle of a running system", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct LifecycleSystemTests {
    @Test("a kill, a restart, a signal and a clean stop change the state, also after a restart of the collector")
    func wholeLife() async throws {
        try await withSystem { system in
            let collector = try system.startCollector(["--settle", "60s"])
            let client = try await system.connect(["lockstep/default/walker/state"])
            let heard = StateLog(client)
            let first = try system.startAgent("walker")
            try await heard.expectNext(["1 active start"])
            await first.stop(SIGKILL)
            try await heard.expectNext(["2 background connection-lost"])

            let second = try system.startAgent("walker")
            try await heard.expectNext(["3 resumed start", "4 active live-sample"])
            second.signal(SIGUSR1)
            try await heard.expectNext(["5 background signal"])

            // After its restart, the collector repeats no transition and continues the numbering.
            await collector.stop(SIGKILL)
            let other = try system.startCollector(["--settle", "60s"])
            #expect(await other.waitForOutput("connected to"))
            await client.expectMessage { $0.text.contains(#""seq":5"#) }
            second.signal(SIGUSR2)
            #expect(await other.waitForState("resumed", from: "background"))
            #expect(await other.waitForState("active", from: "resumed"))
            await second.stop()
            #expect(await other.waitForState("terminated", from: "active", reason: "stop"))

            let reader = try await system.reader()
            #expect(try reader.devices().first?.state == .terminated)
            let last = try #require(client.messages.last)
            #expect(try StateJSON.decode(Data(last.payload)).seq == 8)
        }
    }

    @Test("a device without presence becomes active with its first live sample, and background when it is silent")
    func silentDevice() async throws {
        try await withSystem { system in
            let collector = try system.startCollector(["--silence", "2s"])
            let client = try await system.connect()
            let now = Moment.now().wall.microseconds
            try await system.waitForSubscription()
            #expect(
                await client.publish(
                    "lockstep/default/phone/motion/gyroscope", #"{"t":\#(now),"x":[0],"y":[0],"z":[1]}"#))
            #expect(await collector.waitForState("active", of: "default/phone", reason: "live-sample"))
            #expect(await collector.waitForState("background", of: "default/phone", from: "active", reason: "silent"))
            #expect(
                await client.publish(
                    "lockstep/default/phone/motion/gyroscope",
                    #"{"live":false,"t":\#(now + 1_000_000),"x":[0],"y":[0],"z":[1]}"#))
            #expect(
                await client.publish(
                    "lockstep/default/phone/motion/gyroscope", #"{"t":\#(now + 2_000_000),"x":[0],"y":[0],"z":[1]}"#))
            #expect(
                await collector.waitForState("resumed", of: "default/phone", from: "background", reason: "live-sample"))
            let reader = try await system.reader()
            #expect(try reader.devices().first?.samples == 3)
        }
    }
}

/// The states that a client received live, as `seq state reason`.
private final class StateLog {
    private let client: TestClient
    private var expected: [String] = []

    init(_ client: TestClient) { self.client = client }

    /// Waits until all expected states so far were received, and compares them.
    func expectNext(_ next: [String]) async throws {
        expected += next
        try await expectEventually { try states().count >= expected.count }
        let heard = try states()
        #expect(heard == expected)
    }

    private func states() throws -> [String] {
        try client.messages.filter { !$0.isRetained }.map {
            let transition = try StateJSON.decode(Data($0.payload))
            return "\(transition.seq) \(transition.to.rawValue) \(transition.reason)"
        }
    }
}
