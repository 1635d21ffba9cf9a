import Foundation
import Glibc
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepSQLite
import LockstepSystem
import LockstepTestSupport
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

    @Test("the gateway of phones listens with its certificate and token, and the page names it")
    func phones() throws {
        var plan = plan()
        let access = PhoneAccess(
            certificate: ("web.pem", "web.key"), authority: nil, tokenFile: "users", page: "https://lab:8443",
            token: "abc")
        plan.phones = (8443, access)
        let parts = try parts(plan).mapValues { $0.joined(separator: " ") }
        let gateway =
            "--accept any --listen 0.0.0.0:8443 --users-file users --server-cert-file web.pem --server-key-file web.key"
        #expect(parts["gateway"]?.hasSuffix(gateway) == true)
        #expect(parts["page"]?.hasSuffix("--join-url https://lab:8443") == true)
        #expect(access.address == "https://lab:8443/join#token=abc")
        // A certificate of the user is trusted already.
        #expect(access.trustSteps.isEmpty)
        let own = PhoneAccess(
            certificate: ("web.pem", "web.key"), authority: "ca.pem", tokenFile: "users", page: "https://lab:8443",
            token: "abc")
        plan.phones = (8443, own)
        #expect(try self.parts(plan)["gateway"]?.suffix(2) == ["--authority-file", "ca.pem"])
        plan.exists = { $0 == "/data/gateway.yaml" }
        #expect(throws: CommandFailure.self) { try self.parts(plan) }
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
                "verify", "--store", "sqlite:/data/samples.db", "--device", "demo-1", "--journal",
                "demo-1=/data/demo-1.outbox", "--device", "demo-2", "--journal", "demo-2=/data/demo-2.outbox",
            ])
    }

    @Test(
        "devices of an earlier demo may be in the store of a demo, and no others",
        arguments: [
            ("default", "demo-1", true), ("default", "demo-50", true), ("default", "demo-kitchen", false),
            ("default", "walker", false), ("lab", "demo-1", false),
        ])
    func simulated(group: String, device: String, isSimulated: Bool) throws {
        let address = DeviceAddress(
            group: try GroupID(validating: group), device: try DeviceID(validating: device))
        #expect(UpPlan.isSimulated(address) == isSimulated)
    }

    @Test("commands without a store use that of the default folder, if there is one")
    func defaultStore() async throws {
        try await withTemporaryFolder { folder in
            let environment = ["XDG_DATA_HOME": folder]
            #expect(UpPlan.defaultStore(environment) == nil && UpPlan.defaultStore([:]) == nil)
            try FileManager.default.createDirectory(atPath: folder + "/lockstep", withIntermediateDirectories: true)
            try Data().write(to: URL(fileURLWithPath: folder + "/lockstep/samples.db"))
            #expect(UpPlan.defaultStore(environment) == (try StoreAddress("sqlite:\(folder)/lockstep/samples.db")))
        }
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
            log.line("{}", of: "broker")
            log.line("{starting}", of: "broker")
        }
        #expect(
            lines.texts == [
                "page      │ {\"level\":\"info\"}\n", "broker    │ plain \u{FFFD}text\n", "broker    │ {}\n",
                "broker    │ {starting}\n",
                #"{"part":"page","level":"info"}"# + "\n", #"{"part":"broker","text":"plain \u001btext"}"# + "\n",
                #"{"part":"broker","text":"{}"}"# + "\n", #"{"part":"broker","text":"{starting}"}"# + "\n",
            ])
    }

    @Test("the log says why a part was killed")
    func killed() {
        final class Lines { var texts: [String] = [] }
        let lines = Lines()
        let log = UpLog(isJSON: false, terminal: Terminal(isInteractive: false, hasColours: false)) {
            lines.texts.append($0)
        }
        log.show("page", .killed(isRequested: true))
        log.show("page", .killed(isRequested: false))
        #expect(
            lines.texts == [
                "up        │ page was killed, as a second signal asked\n",
                "up        │ page did not stop after SIGTERM and was killed\n",
            ])
    }

    @Test("a delivery is complete when the batches of its time are acknowledged, whatever was accepted since")
    func delivery() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/outbox"
            let outbox = try SQLiteDatabase(path: path)
            try outbox.execute("CREATE TABLE batches (id INTEGER PRIMARY KEY); INSERT INTO batches VALUES (1), (2)")
            let mark = try DeliveryMark(outbox: path)
            try outbox.execute("DELETE FROM batches WHERE id = 1; INSERT INTO batches VALUES (3)")
            #expect(!mark.isReached)
            try outbox.execute("DELETE FROM batches WHERE id = 2")
            #expect(mark.isReached)
        }
    }
}

@Suite("Output of lockstep up")
struct UpOutputTests {
    init() { signal(SIGPIPE, SIG_IGN) }

    private func openPipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ProgramError("no pipe") }
        return (ends[0], ends[1])
    }

    private func read(_ descriptor: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    }

    @Test("a reader that has ended and a full disk are no errors")
    func errors() throws {
        let ends = try openPipe()
        close(ends.read)
        UpOutput(descriptor: ends.write).write("lost\n")
        close(ends.write)
        let full = open("/dev/full", O_WRONLY)
        UpOutput(descriptor: full).write("lost\n")
        close(full)
        UpOutput(descriptor: -1).write("lost\n")
    }

    @Test("lines that a reader has no room for are left out, and the next one begins on a line of its own")
    func blocked() throws {
        let ends = try openPipe()
        defer { for end in [ends.read, ends.write] { close(end) } }
        let output = UpOutput(descriptor: ends.write)
        output.write(String(repeating: "x", count: 1 << 20) + "\n", within: .zero)
        for _ in 0..<1000 { output.write("lost\n") }
        let first = read(ends.read)
        #expect(!first.isEmpty && first.allSatisfy { $0 == "x" })
        output.write("second\n")
        output.write("third\n")
        #expect(read(ends.read) == "\nsecond\nthird\n")
    }
}
