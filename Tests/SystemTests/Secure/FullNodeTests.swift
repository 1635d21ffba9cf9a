import Foundation
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "A NATS node with a full disk",
    .enabled(if: Programs.isInstalled("nats-server"), "nats-server is not installed"),
    .enabled("file systems cannot be mounted") { await SmallDisk.isAvailable() })
struct FullNodeTests {
    @Test("the other nodes continue, no sample is lost, and the node takes part again when it has space")
    func fullDisk() async throws {
        try await withNATSCluster { cluster, credentials, folder in
            let full = 2
            await cluster.nodes[full].stop()
            let disk = "\(folder)/node-\(full + 1)/messages"
            try await SmallDisk.with(at: disk, megabytes: 64) {
                try cluster.restart(full)
                try await expectReady(full, cluster)
                let store = "\(folder)/store.db"
                let collector = try cluster.run(
                    "lockstep-collector",
                    ["--broker", cluster.urls(from: full), "--store", "sqlite:\(store)"]
                        + credentials.options(credentials.tls("collector")))
                let agent = try cluster.run(
                    "lockstep-agent",
                    [
                        "--broker", cluster.urls(from: full), "--group", "lab", "--device", "arm-left", "--source",
                        "simulate:1", "--outbox", "\(folder)/arm-left.outbox", "--journal", "--window", "200ms",
                    ] + credentials.options(credentials.tls("lab/arm-left")))
                try await expectProgress(store, "\(collector.text)\(agent.text)\(cluster.text)")
                let filler = disk + "/filler"
                SmallDisk.fill(filler)
                #expect(
                    await cluster.nodes[full].waitForOutput("no space left on device", within: .seconds(90)),
                    "\(cluster.nodes[full].text)")
                try await expectProgress(store, "\(collector.text)\(agent.text)\(cluster.text)")
                unlink(filler)
                await cluster.nodes[full].stop()
                try cluster.restart(full)
                try await expectReady(full, cluster)
                try await expectProgress(store, "\(collector.text)\(agent.text)\(cluster.text)")
                await agent.stop()
                #expect(await collector.waitForState("terminated", within: .seconds(120)), "\(collector.text)")
                await collector.stop()
                let verification = try await RunningProgram.run(
                    Programs.built("lockstep"),
                    ["verify", "--store", "sqlite:\(store)", "--journal", "lab/arm-left=\(folder)/arm-left.outbox"])
                #expect(verification.status == 0, "\(verification.text)")
                await cluster.nodes[full].stop(SIGKILL)
            }
        }
    }

    private func expectReady(_ node: Int, _ cluster: NATSCluster) async throws {
        await expectEventually("\(cluster.nodes[node].text)", within: .seconds(60)) {
            canConnect(port: cluster.ports[node]) && cluster.nodes[node].text.contains("Server is ready")
        }
    }

    private func expectProgress(_ store: String, _ log: @autoclosure () -> String) async throws {
        func stored() -> Int { Int((try? StoreReader(path: store).devices())?.first?.samples ?? 0) }
        let before = stored()
        await expectEventually(log(), within: .seconds(120)) { stored() > before + 2000 }
    }
}
