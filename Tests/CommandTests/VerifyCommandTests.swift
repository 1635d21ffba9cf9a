import Foundation
import LockstepAgent
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep verify")
struct VerifyCommandTests {
    @Test("gaps are listed, and the exit status is 1")
    func gaps() async throws {
        try await withStore { store in
            let run = try await lockstep(["verify"], store)
            #expect(run.status == 1)
            #expect(
                run.text == """
                    default/left
                      epoch e1  received 1, 3
                        missing 2
                      3 samples
                    lab/right
                      1 sample
                    incomplete: 1 batch missing

                    """)
            let json = try await lockstep(["verify", "--json"], store)
            #expect(json.status == 1)
            #expect(
                json.text.hasPrefix(
                    #"{"complete":false,"on_its_way":0,"problems":["1 batch missing"],"file_checked":false,"integrity":[],"devices":[{"group":"default","#
                ))
        }
    }

    @Test("with --file, the file is checked and the samples of each stream are counted")
    func file() async throws {
        try await withStore { store in
            let run = try await lockstep(["verify", "--file", "--device", "default/left"], store)
            #expect(
                run.text == """
                    default/left
                      epoch e1  received 1, 3
                        missing 2
                      motion/accelerometer  2 samples
                      location              1 sample
                    incomplete: 1 batch missing

                    """, "\(run.text)")
            let json = try await lockstep(["verify", "--file", "--json"], store)
            #expect(json.text.contains(#""file_checked":true"#), "\(json.text)")
        }
    }

    @Test("batches on their way have an exit status of their own, and those from before the store do not count")
    func onItsWay() async throws {
        try await withTemporaryFolder { folder in
            let store = folder + "/store.db"
            let sample = block([1_700_000_000_000_000], x: [0.5])
            let batch = received(sample, "left", BatchPosition(epoch: Epoch(unchecked: "e1"), seq: 9))
            var group = IngestGroup(
                batches: [batch],
                lifecycles: [batch.device: LifecycleSnapshot(epoch: Epoch(unchecked: "e1"), session: 1)])
            func report(pending: SequenceSet) throws {
                let key = DeviceEpoch(device: batch.device, epoch: Epoch(unchecked: "e1"))
                group.reports[key] = OutboxReport(epoch: key.epoch, seq: 9, pending: [key.epoch: pending])
                try write(group, to: store)
            }
            try report(pending: SequenceSet([5...8]))
            let waiting = try await lockstep(["verify"], store)
            #expect(waiting.status == 2)
            #expect(
                waiting.text == """
                    default/left
                      epoch e1  received 9
                        before this store 1-4
                        on its way 5-8
                      1 sample
                    not yet complete: 4 batches on the way, nothing missing

                    """, "\(waiting.text)")
            let json = try await lockstep(["verify", "--json"], store)
            #expect(json.text.hasPrefix(#"{"complete":false,"on_its_way":4,"problems":[],"#), "\(json.text)")
            #expect(json.text.contains(#""missing":[],"on_its_way":[[5,8]],"before":[[1,4]],"#), "\(json.text)")
            try report(pending: SequenceSet([7...8]))
            let missing = try await lockstep(["verify"], store)
            #expect(missing.status == 1)
            #expect(missing.text.hasSuffix("incomplete: 2 batches missing, 2 batches on the way\n"), "\(missing.text)")
            for seq in 5...8 as ClosedRange<Int64> {
                try write(
                    IngestGroup(batches: [
                        received(sample, "left", BatchPosition(epoch: Epoch(unchecked: "e1"), seq: seq))
                    ]), to: store)
            }
            let complete = try await lockstep(["verify"], store)
            #expect(complete.status == 0 && complete.text.contains("before this store 1-4"), "\(complete.text)")
        }
    }

    @Test("a store without devices fails, because it may be the wrong file")
    func empty() async throws {
        try await withTemporaryFolder { folder in
            _ = try SQLiteStore(path: folder + "/store.db")
            let run = try await lockstep(["verify"], folder + "/store.db")
            #expect(run.status == 1)
            #expect(run.text == "incomplete: the store has no device\n")
        }
    }

    @Test("with --device, only the given devices are verified")
    func devices() async throws {
        try await withStore { store in
            let complete = try await lockstep(["verify", "--device", "lab/right"], store)
            #expect(complete.status == 0)
            #expect(
                complete.text == """
                    lab/right
                      1 sample
                    complete: 1 sample of 1 device

                    """, "\(complete.text)")
            let json = try await lockstep(["verify", "--json", "--device", "right"], store)
            #expect(json.status == 0)
            #expect(
                json.text.hasPrefix(
                    #"{"complete":true,"on_its_way":0,"problems":[],"file_checked":false,"integrity":[],"devices":[{"group":"lab","#
                ))
            #expect(!json.text.contains("left"), "\(json.text)")
            let incomplete = try await lockstep(["verify", "--device", "right", "--device", "default/left"], store)
            #expect(incomplete.status == 1)
            #expect(incomplete.text.hasSuffix("incomplete: 1 batch missing\n"), "\(incomplete.text)")
        }
    }

    @Test("with --device, a journal of another device is rejected")
    func foreignJournal() async throws {
        try await withJournal { outbox, blocks, position, store in
            try write(
                IngestGroup(batches: [
                    received(blocks[0], "left", position(1)), received(blocks[1], "left", position(2)),
                    received(blocks[0], "right", nil, group: "lab"),
                ]), to: store)
            let own = try await lockstep(["verify", "--device", "left", "--journal", outbox], store)
            #expect(own.status == 0, "\(own.text)")
            let named = try await lockstep(["verify", "--device", "lab/right", "--journal", "left=\(outbox)"], store)
            #expect(named.status == 1)
            #expect(named.text.contains("default/left is not one of the devices given by --device"), "\(named.text)")
            let found = try await lockstep(["verify", "--device", "lab/right", "--journal", outbox], store)
            #expect(found.status == 1)
            #expect(found.text.contains("no device given by --device has batches of the agent with"), "\(found.text)")
        }
    }

    @Test(
        "on a terminal, the comparison of a journal shows its progress",
        .enabled(if: Programs.isInstalled("script"), "script is not installed"))
    func progress() async throws {
        try await withJournal { outbox, blocks, position, store in
            try write(
                IngestGroup(batches: [
                    received(blocks[0], "left", position(1)), received(blocks[1], "left", position(2)),
                ]), to: store)
            let command = "'\(Programs.built("lockstep"))' verify --journal '\(outbox)'"
            let run = try await RunningProgram.run(
                "/usr/bin/script", ["-qec", command, "/dev/null"],
                environment: ["LOCKSTEP_STORE": "sqlite:\(store)", "TERM": "xterm"])
            #expect(run.status == 0 && run.text.contains("comparing default/left: "), "\(run.text)")
        }
    }

    @Test("the path of a journal may contain an equals sign")
    func equalsSign() async throws {
        try await withJournal(named: "run=1=a.outbox") { path, blocks, position, store in
            try write(
                IngestGroup(batches: [
                    received(blocks[0], "left", position(1)), received(blocks[1], "left", position(2)),
                ]), to: store)
            for journal in ["default/left=\(path)", "left=\(path)", path] {
                let run = try await lockstep(["verify", "--journal", journal], store)
                #expect(run.status == 0, "\(journal): \(run.text)")
                #expect(run.text.contains("journal of default/left: 3 samples accepted, 3 stored once"), "\(run.text)")
            }
        }
    }

    @Test("a store with all samples of a journal is complete, and the device is found by its epochs")
    func complete() async throws {
        try await withJournal { outbox, blocks, position, store in
            try write(
                IngestGroup(batches: [
                    received(blocks[0], "left", position(1)), received(blocks[1], "left", position(2)),
                ]), to: store)
            let run = try await lockstep(["verify", "--journal", outbox], store)
            #expect(run.status == 0)
            #expect(
                run.text.hasSuffix(
                    """
                    journal of default/left: 3 samples accepted, 3 stored once
                    complete: 3 samples of 1 device, including all 3 accepted samples

                    """), "\(run.text)")
        }
    }

    @Test("samples of the journal that are missing or have other values are reported")
    func journals() async throws {
        try await withJournal { outbox, blocks, position, store in
            try write(IngestGroup(batches: [received(blocks[0], "left", position(1))]), to: store)
            let missing = try await lockstep(["verify", "--journal", outbox], store)
            #expect(missing.status == 1)
            #expect(missing.text.contains("journal of default/left: 3 samples accepted, 2 stored once"))
            #expect(missing.text.hasSuffix("incomplete: 1 accepted sample missing\n"), "\(missing.text)")

            try write(IngestGroup(batches: [received(block([3000], x: [4]), "left", position(2))]), to: store)
            let different = try await lockstep(["verify", "--journal", outbox], store)
            #expect(different.status == 1)
            #expect(different.text.contains("stored with other values: 1 of motion/accelerometer, batch 2"))
            #expect(different.text.hasSuffix("incomplete: 1 accepted sample stored with other values\n"))
        }
    }

    @Test("the device of a journal can be specified with or without a group")
    func namedDevices() async throws {
        try await withJournal { outbox, blocks, position, store in
            try write(IngestGroup(batches: [received(blocks[0], "left", position(1))]), to: store)
            let other = try await lockstep(["verify", "--journal", "lab/right=\(outbox)", "--json"], store)
            #expect(other.status == 1)
            #expect(
                other.text.contains(#""device":"right","accepted":3,"stored":0,"expired":0,"missing":3"#),
                "\(other.text)")
            let text = try await lockstep(["verify", "--journal", "lab/right=\(outbox)"], store)
            #expect(text.text.contains("  no device lab/right in the store\n"), "\(text.text)")
            let own = try await lockstep(["verify", "--journal", "left=\(outbox)"], store)
            #expect(own.text.contains("journal of default/left: 3 samples accepted, 2 stored once"), "\(own.text)")
        }
    }

    @Test("if the epochs of a journal match no device or several devices, the device must be specified")
    func unknownOwner() async throws {
        try await withJournal { outbox, blocks, position, store in
            try write(IngestGroup(batches: [received(blocks[0], "left", nil)]), to: store)
            let none = try await lockstep(["verify", "--journal", outbox], store)
            #expect(none.status == 1)
            #expect(
                none.text.contains(
                    "no batches of the agent with the outbox \(outbox); specify the device: --journal GROUP/DEVICE=\(outbox)"
                ))
            try write(
                IngestGroup(batches: [
                    received(blocks[0], "left", position(1)),
                    received(blocks[0], "right", position(1), group: "lab"),
                ]), to: store)
            let two = try await lockstep(["verify", "--journal", outbox], store)
            #expect(two.status == 1)
            #expect(
                two.text.contains("\(outbox) matches several devices: default/left, lab/right; specify the device"),
                "\(two.text)")
        }
    }

    @Test("an empty journal is refused, even if the device is specified")
    func emptyJournal() async throws {
        try await withStore { store in
            let outbox = store + ".outbox"
            do {
                let open = try Outbox(path: outbox, owner: owner, keepsJournal: false)
                _ = try open.commit([.init(samples: block([1000], x: [1]))], at: 5000)
            }
            for journal in [outbox, "left=\(outbox)"] {
                let run = try await lockstep(["verify", "--journal", journal], store)
                #expect(run.status == 1)
                #expect(
                    run.text.contains("the journal in \(outbox) is empty: run the agent with --journal"), "\(run.text)")
            }
        }
    }

    @Test(
        "an invalid --journal option is refused with the reason",
        arguments: ["a/b/c=store.db", "left=", "a b=store.db"])
    func wrongSpecification(_ journal: String) async throws {
        try await withStore { store in
            let run = try await lockstep(["verify", "--journal", journal], store)
            #expect(run.status == 1)
            #expect(run.text.contains("use GROUP/DEVICE=PATH, DEVICE=PATH or PATH"), "\(run.text)")
            let other = try await lockstep(["verify", "--journal", store], store)
            #expect(other.text.contains("--journal: '\(store)' is not the outbox of an agent"), "\(other.text)")
        }
    }

    @Test("a damaged file is reported, even if parts of it are unreadable")
    func damage() async throws {
        try await withTemporaryFolder { folder in
            let store = folder + "/store.db"
            let times = Array(Int64(1)...20_000)
            try write(IngestGroup(batches: [received(block(times, x: times.map(Double.init)), "left", nil)]), to: store)
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: store))
            let pages = Int(try file.seekToEnd()) / 4096
            for page in stride(from: pages / 2, to: pages - 1, by: 7) {
                try file.seek(toOffset: UInt64(page * 4096))
                try file.write(contentsOf: Data(repeating: 0xA5, count: 4096))
            }
            try file.close()
            let run = try await lockstep(["verify", "--file"], store)
            #expect(run.status == 1)
            #expect(run.text.hasPrefix("damaged: "), "\(run.text)")
            #expect(run.text.split(separator: "\n").last?.hasPrefix("incomplete: ") == true, "\(run.text)")
            #expect(run.text.contains("integrity error"), "\(run.text)")
            let selected = try await lockstep(["verify", "--file", "--device", "left"], store)
            #expect(selected.status == 1 && selected.text.hasPrefix("damaged: "), "\(selected.text)")
        }
    }

    private let owner = Outbox.Owner.agent(DeviceAddress(group: .standard, device: DeviceID(unchecked: "left")))

    /// Creates an outbox with a journal of two batches. The body also receives the batches, a function that returns
    /// their positions, and the path for a new store.
    private func withJournal(
        named name: String = "agent.outbox",
        _ body: (String, [SampleBlock], (Int64) -> BatchPosition, String) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let outbox = folder + "/" + name
            let blocks = [block([1000, 2000], x: [1, 2]), block([3000], x: [3])]
            let open = try Outbox(path: outbox, owner: owner, keepsJournal: true)
            _ = try open.commit(blocks.map { .init(samples: $0) }, at: 5000)
            let epoch = open.epoch
            try await body(outbox, blocks, { BatchPosition(epoch: epoch, seq: $0) }, folder + "/store.db")
        }
    }
}
