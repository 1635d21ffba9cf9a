import Foundation
import LockstepTestSupport
import Testing

@Suite("Client ids", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct ClientIDTheftTests {
    @Test("a device that knows the names of all others can neither end their connections nor take over their sessions")
    func theft() async throws {
        try await withSecureBroker { broker in
            let folder = broker.credentials.folder
            try await broker.credentials.add("ant")
            let collector = try broker.startCollector()
            let gateway = try broker.run(
                Programs.built("lockstep-gateway"),
                [
                    "--config", folder + "/gateway.yaml", "--broker", broker.url, "--outbox",
                    broker.folder + "/gateway.outbox",
                ])
            let device = folder + "/devices/lab/walker"
            let agent = try broker.startAgent(
                "walker", as: "lab/walker", ["--client-id-file", device + "/client-id"])
            for program in [collector, gateway, agent] {
                #expect(await program.waitForOutput("connected to", within: .seconds(120)), "\(program.text)")
            }
            #expect(
                try String(contentsOfFile: device + "/agent.yaml", encoding: .utf8).contains(
                    "client-id-file: client-id"))
            let names = ["collector-main", "collector-main-clock", "gateway-main", "agent-lab-walker"].map {
                "lockstep-" + $0
            }
            let log = { broker.broker?.text ?? "" }
            for name in names {
                // 32 hexadecimal digits follow.
                let secret = try Regex("as \(name)-[0-9a-f]{32} ")
                await expectEventually("\(name): \(log())") { log().contains(secret) }
                let thief = try await broker.connect(as: "lab/ant", [], id: name)
                await thief.stop()
            }
            for name in names { #expect(log().contains("Client \(name) disconnected"), "\(log())") }
            #expect(!log().contains("already connected, closing old connection"), "\(log())")
            for program in [collector, gateway, agent] { #expect(!program.text.contains("uses the same id")) }
        }
    }
}
