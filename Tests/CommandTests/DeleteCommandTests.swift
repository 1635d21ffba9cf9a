import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep delete")
struct DeleteCommandTests {
    @Test("without a collector, the command deletes; a preview and a missing --yes delete nothing")
    func withoutCollector() async throws {
        try await withStore { store in
            let stream = ["delete", "--device", "default/left", "--stream", "accelerometer"]
            let preview = try await lockstep(stream + ["--all", "--dry-run"], store)
            #expect(preview.status == 0 && preview.text.contains("motion/accelerometer  2 samples"), "\(preview.text)")
            let unasked = try await lockstep(stream + ["--all"], store)
            #expect(unasked.status != 0 && unasked.text.contains("--yes"), "\(unasked.text)")
            let unlimited = try await lockstep(stream + ["--yes"], store)
            #expect(unlimited.status != 0 && unlimited.text.contains("--all"), "\(unlimited.text)")
            #expect(try StoreReader(path: store).deletions(of: nil).isEmpty)
            let done = try await lockstep(stream + ["--all", "--yes", "--reason", "wrong"], store)
            #expect(done.status == 0 && done.text.contains("Deleted 2 samples of default/left."), "\(done.text)")
            let rest = try StoreReader(path: store).verification().first { $0.address.device.rawValue == "left" }
            #expect(rest?.samples.map(\.stream.name) == ["location"])
            let list = try await lockstep(["delete", "--list"], store)
            #expect(list.text.contains("default/left  motion/accelerometer  … – "), "\(list.text)")
            #expect(list.text.contains("2 samples deleted, 0 arrived later") && list.text.contains(": wrong"))
            let verify = try await lockstep(["verify", "--device", "default/left"], store)
            #expect(verify.text.contains("  1 sample\n") && verify.text.contains("missing 2"), "\(verify.text)")
        }
    }

    @Test("a running collector deletes what the command asks for, and does not store what arrives again")
    func withCollector() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect(["none"])
            func publish(_ seq: Int) async {
                let batch = #"{"v":1,"epoch":"e","seq":\#(seq),"t":1000000,"dt":1000,"pressure":[1,2,3,4]}"#
                #expect(await client.publish("lockstep/lab/bulk/pressure", batch))
            }
            await publish(1)
            let reader = try StoreReader(path: system.storePath)
            try await expectEventually("the samples") { try reader.devices().first?.samples == 4 }
            let run = try await RunningProgram.run(
                Programs.built("lockstep"),
                [
                    "delete", "--store", "sqlite:\(system.storePath)", "--broker", system.broker.url, "--device",
                    "bulk",
                    "--from", "1001000", "--to", "1003000", "--yes",
                ])
            #expect(run.status == 0 && run.text.contains("Deleted 2 samples of lab/bulk."), "\(run.text)")
            await publish(2)
            try await expectEventually("the refusal") { try reader.deletions(of: nil).first?.refused == 2 }
            let device = try #require(try reader.devices().first)
            #expect(device.samples == 2 && device.duplicates == 2 && device.missing == 0)
        }
    }
}
