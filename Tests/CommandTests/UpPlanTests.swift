import LockstepCommandLine
import LockstepSystem
import Testing

@testable import lockstep

@Suite("Programs of lockstep up")
struct UpPlanTests {
    private func plan(_ files: Set<String> = []) -> UpPlan {
        var plan = UpPlan(folder: "/data", broker: "mqtt://127.0.0.1:1883")
        plan.exists = { files.contains($0) }
        return plan
    }

    private func parts(_ plan: UpPlan, without missing: String = "") throws -> [String: [String]] {
        let parts = try plan.parts { $0 == missing ? nil : "/bin/\($0)" }
        return Dictionary(uniqueKeysWithValues: parts.map { ($0.name, [$0.program] + $0.arguments) })
    }

    @Test("without settings, there are a collector and a page")
    func plain() throws {
        let broker = ["--broker", "mqtt://127.0.0.1:1883"]
        let store = ["--store", "sqlite:/data/samples.db"]
        #expect(
            try parts(plan()) == [
                "collector": ["/bin/lockstep-collector"] + broker + store,
                "page": ["/bin/lockstep-serve"] + broker + store,
            ])
    }

    @Test("files of the folder are the settings of the parts, and a gateway runs only with them")
    func settings() throws {
        let files = ["rules", "collector", "serve", "gateway"].map { "/data/\($0).yaml" }
        let parts = try parts(plan(Set(files)))
        let collector = try #require(parts["collector"]?.joined(separator: " "))
        #expect(collector.contains(" --rules /data/rules.yaml") && collector.contains(" --config /data/collector.yaml"))
        #expect(parts["page"]?.suffix(2) == ["--config", "/data/serve.yaml"])
        #expect(parts["gateway"]?.contains("/data/gateway.db") == true)
    }

    @Test("simulated devices have journals, and the verification reads them all")
    func demo() throws {
        var plan = plan()
        plan.devices = 2
        plan.hasPage = false
        plan.relay = ("demo-2", "mqtt://127.0.0.1:9")
        let parts = try plan.parts { $0 }
        #expect(parts.map(\.name) == ["collector", "demo-1", "demo-2"])
        #expect(parts.map(\.stage) == [.collector, .devices, .devices])
        #expect(parts[1].arguments.starts(with: ["--broker", "mqtt://127.0.0.1:1883", "--device", "demo-1"]))
        #expect(parts[2].arguments.starts(with: ["--broker", "mqtt://127.0.0.1:9", "--device", "demo-2"]))
        #expect(parts[1...].allSatisfy { $0.arguments.contains("--journal") })
        #expect(
            plan.verification == [
                "verify", "--store", "sqlite:/data/samples.db", "--journal", "demo-1=/data/demo-1.outbox", "--journal",
                "demo-2=/data/demo-2.outbox",
            ])
    }

    @Test("a missing program is named with advice")
    func missing() throws {
        let error = #expect(throws: (any Error).self) { try parts(plan(), without: "lockstep-serve") }
        #expect(
            "\(error as Any)".contains("lockstep-serve is not installed: install it beside lockstep, or add --no-page"))
    }

    @Test(
        "the default folder follows XDG_DATA_HOME and HOME",
        arguments: [
            (["HOME": "/home/maria"], "/home/maria/.local/share/lockstep"),
            (["HOME": "/home/maria", "XDG_DATA_HOME": "/data"], "/data/lockstep"),
            (["HOME": "/home/maria", "XDG_DATA_HOME": "relative"], "/home/maria/.local/share/lockstep"),
        ])
    func folder(environment: [String: String], expected: String) throws {
        #expect(try UpPlan.defaultFolder(environment) == expected)
    }

    @Test("lines are shown with the name of their part, and JSON lines get it as a member")
    func log() {
        final class Lines { var texts: [String] = [] }
        let lines = Lines()
        let plain = Terminal(isInteractive: false, hasColours: false)
        for isJSON in [false, true] {
            let log = UpLog(isJSON: isJSON, terminal: plain) { lines.texts.append($0) }
            log.line(#"{"level":"info"}"#, of: "page")
            log.line("plain \u{1B}text", of: "broker")
        }
        #expect(
            lines.texts == [
                "page      │ {\"level\":\"info\"}\n", "broker    │ plain \u{FFFD}text\n",
                #"{"part":"page","level":"info"}"# + "\n", #"{"part":"broker","text":"plain \u001btext"}"# + "\n",
            ])
    }
}
