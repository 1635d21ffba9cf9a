import Foundation
import LockstepTestSupport
import Testing

@Suite("The development broker", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct DevelopmentBrokerTests {
    @Test("the development broker delivers from an agent to the collector")
    func delivers() async throws {
        try await withSystem { system in
            let port = try freePort()
            let configuration = system.folder + "/development.conf"
            let text = try String(contentsOfFile: Programs.source("broker-config/development.conf"), encoding: .utf8)
                .replacing("listener 1883 127.0.0.1", with: "user root\nlistener \(port) 127.0.0.1")
                .replacing("# persistence_location /var/lib/mosquitto", with: "persistence_location \(system.folder)/")
            try text.write(toFile: configuration, atomically: true, encoding: .utf8)
            let broker = try RunningProgram(Programs.installed("mosquitto") ?? "", ["-c", configuration])
            await expectEventually("\(broker.text)", within: .seconds(120)) { canConnect(port: port) }
            let url = "mqtt://127.0.0.1:\(port)"
            let collector = try system.startCollector(url: url)
            #expect(await collector.waitForOutput("connected to", within: .seconds(120)), "\(collector.text)")
            let agent = try system.startAgent("walker", url: url)
            #expect(
                await collector.waitForState("active", of: "default/walker", within: .seconds(120)), "\(collector.text)"
            )
            await agent.stop()
            #expect(await collector.waitForState("terminated", within: .seconds(120)), "\(collector.text)")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "\(verification.text)")
            await broker.stop()
        }
    }
}
