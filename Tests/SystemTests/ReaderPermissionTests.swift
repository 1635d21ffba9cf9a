import Foundation
import LockstepTestSupport
import Testing

@Suite("Readers without write access", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct ReaderPermissionTests {
    @Test("a user who may only read the store can read it before, while and after a collector runs, also after a crash")
    func reads() async throws {
        try await withSystem { system in
            let folder = system.folder + "/store"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let path = folder + "/samples.db"
            _ = try system.startAgent("walker")
            for signal in [SIGTERM, SIGKILL, SIGTERM] {
                let collector = try system.start(
                    "lockstep-collector", ["--broker", system.broker.url, "--store", "sqlite:" + path])
                #expect(await collector.waitForOutput("connected to"), "\(collector.text)")
                // Readers must see what is only in the log as well.
                let before = try await samples(path)
                try await expectEventually { try await samples(path) > before }
                await collector.stop(signal)
                #expect(try await samples(path) > before)
                #expect(!collector.text.contains("not writable"), "\(collector.text)")
                let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                #expect(names == ["samples.db", "samples.db-shm", "samples.db-wal", "samples.db.lock"])
            }
        }
    }

    @Test(
        "other users cannot read store and outbox, and the group only if the umask allows it to the group alone",
        arguments: [("022", 0o600), ("002", 0o600), ("027", 0o640)])
    func newFiles(_ umask: String, _ mode: Int) async throws {
        try await withSystem { system in
            func start(_ program: String, _ arguments: String) throws -> RunningProgram {
                try RunningProgram(
                    "/bin/sh",
                    [
                        "-c",
                        "umask \(umask); exec \(Programs.built(program)) --broker \(system.broker.url) \(arguments)",
                    ])
            }
            let (store, outbox) = (system.folder + "/s.db", system.folder + "/o.db")
            let collector = try start("lockstep-collector", "--store sqlite:\(store)")
            #expect(await collector.waitForOutput("connected to"), "\(collector.text)")
            let agent = try start("lockstep-agent", "--device a --source simulate:1 --journal --outbox \(outbox)")
            #expect(await agent.waitForOutput("connected to"), "\(agent.text)")
            for file in [store, store + "-wal", store + "-shm", outbox, outbox + "-wal", outbox + "-shm"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: file)
                #expect(attributes[.posixPermissions] as? Int == mode, "\(file)")
            }
            await agent.stop()
            await collector.stop()
        }
    }

    @Test("a store without its -shm file is refused with advice")
    func advice() async throws {
        try await withTemporaryFolder { folder in
            try await withSystem { system in
                let collector = try system.startCollector()
                #expect(await collector.waitForOutput("connected to"), "\(collector.text)")
                await collector.stop()
                try FileManager.default.copyItem(atPath: system.storePath, toPath: folder + "/samples.db")
            }
            let run = try await read(folder + "/samples.db")
            #expect(run.status == 1)
            #expect(run.text.contains("start the collector once"), "\(run.text)")
        }
    }

    /// The number of samples of all devices, read without write access.
    private func samples(_ path: String) async throws -> Int {
        let run = try await read(path)
        #expect(run.status == 0, "\(run.text)")
        struct Device: Decodable { let samples: Int }
        return try JSONDecoder().decode([Device].self, from: Data(run.text.utf8)).reduce(0) { $0 + $1.samples }
    }

    /// Lists the devices of a store as a user who may not write to its folder and files.
    private func read(_ path: String) async throws -> (status: Int32, text: String) {
        let folder = (path as NSString).deletingLastPathComponent
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).map { folder + "/" + $0 }
        for file in files { chmod(file, 0o444) }
        chmod(folder, 0o555)
        defer {
            chmod(folder, 0o755)
            for file in files { chmod(file, 0o644) }
        }
        // Without this capability, permissions also apply to root.
        let arguments = geteuid() == 0 ? ["--bounding-set=-dac_override,-dac_read_search,-fowner"] : []
        return try await RunningProgram.run(
            "/usr/bin/setpriv",
            arguments + [Programs.built("lockstep"), "devices", "--json", "--store", "sqlite:" + path])
    }
}
