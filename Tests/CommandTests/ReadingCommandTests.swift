import Foundation
import LockstepAgent
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep devices, query and verify")
struct ReadingCommandTests {
    @Test("query writes CSV with a header, by device and time")
    func csv() async throws {
        try await withStore { store, _ in
            let run = try await lockstep(["query", "accelerometer", "--csv"], store)
            #expect(run.status == 0)
            #expect(
                run.text == """
                    group,device,t,time,x,y,z
                    default,left,1700000000000000,2023-11-14T22:13:20.000000Z,0.5,0.0,-1.0
                    default,left,1700000000010000,2023-11-14T22:13:20.010000Z,0.25,0.0,-1.0
                    lab,right,1700000000000000,2023-11-14T22:13:20.000000Z,0.5,0.0,-1.0

                    """)
        }
    }

    @Test("query keeps to a device, to times and to a limit")
    func bounds() async throws {
        try await withStore { store, _ in
            let cases: [([String], Int)] = [
                (["--device", "left"], 2), (["--group", "lab"], 1), (["--from", "1700000000010000"], 1),
                (["--to", "2023-11-14T22:13:20.010000Z"], 2), (["--from", "-1h"], 0), (["--limit", "1"], 1),
            ]
            for (arguments, count) in cases {
                let run = try await lockstep(["query", "motion/accelerometer", "--json"] + arguments, store)
                #expect(run.text.split(separator: "\n").count == count, "\(arguments): \(run.text)")
            }
        }
    }

    @Test("query writes what is not known as null, or as nothing")
    func unknownValues() async throws {
        try await withStore { store, _ in
            let json = try await lockstep(["query", "location", "--json"], store)
            #expect(json.text.contains(#""lat":46.5,"lon":7.5,"alt":null"#), "\(json.text)")
            #expect(json.text.contains(#""fix":3,"at":null}"#), "\(json.text)")
            let csv = try await lockstep(["query", "location", "--csv"], store)
            #expect(csv.text.hasSuffix("46.5,7.5,,,,,,3,\n"), "\(csv.text)")
        }
    }

    @Test(
        "a mistake is answered with what would be right",
        arguments: [
            (["query", "thermometer"], "there is no stream 'thermometer'; known are motion/accelerometer"),
            (["query", "steps", "--from", "yesterday"], "'yesterday' is no time: write 2026-"),
            (["query", "steps", "--device", "nobody"], "the store knows no device 'nobody'"),
            (["query", "steps", "--limit", "-1"], "--limit"),
            (["verify", "--journal", "/nowhere.outbox"], "/nowhere.outbox"),
            (["devices", "--store", "/plain/path"], "write sqlite:PATH"),
            (["devices", "--store", "sqlite:/nowhere/at.db"], "there is no store at /nowhere/at.db"),
        ])
    func mistakes(arguments: [String], answer: String) async throws {
        try await withStore { store, _ in
            let run = try await lockstep(arguments, store)
            #expect(run.status != 0)
            #expect(run.text.contains(answer), "\(run.text)")
        }
    }

    @Test("devices tells state, samples, duplicates and gaps, in columns and as JSON")
    func devices() async throws {
        try await withStore { store, _ in
            let run = try await lockstep(["devices"], store)
            let lines = run.text.split(separator: "\n").map {
                $0.split(whereSeparator: \.isWhitespace).map(String.init)
            }
            #expect(lines.count == 3)
            #expect(lines[1].first == "default/left")
            #expect(lines[1][1] == "active")
            #expect(Array(lines[1].suffix(5)) == ["3", "2", "0", "1", "0"], "\(run.text)")
            let json = try await lockstep(["devices", "--json"], store)
            let array = try JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [[String: Any]]
            #expect(array?.count == 2)
            #expect(array?.first?["gaps"] as? Int == 1)
            #expect(array?.first?["state"] as? String == "active")
        }
    }

    @Test("verify names gaps, and its exit code tells")
    func gaps() async throws {
        try await withStore { store, _ in
            let run = try await lockstep(["verify"], store)
            #expect(run.status == 1)
            #expect(run.text.contains("epoch e1  received 1, 3\n    missing 2\n"), "\(run.text)")
            #expect(run.text.hasSuffix("incomplete: 1 batches missing\n"))
        }
    }

    @Test("verify looks every accepted sample up: missing and different ones are told")
    func journals() async throws {
        try await withTemporaryFolder { folder in
            let outbox = folder + "/agent.outbox"
            let blocks = [block([1000, 2000], x: [1, 2]), block([3000], x: [3])]
            var epoch: Epoch?
            do {
                let open = try Outbox(path: outbox, keepsJournal: true)
                epoch = open.epoch
                _ = try open.commit(appending: blocks, at: Timestamp(microseconds: 5000))
            }
            let position = { (seq: Int64) in epoch.map { BatchPosition(epoch: $0, seq: seq) } }
            let path = folder + "/store.db"
            func write(_ group: IngestGroup) throws { _ = try SQLiteStore(path: path).write(group) }
            try write(IngestGroup(batches: [received(blocks[0], "left", position(1))]))
            let journal = ["verify", "--store", "sqlite:\(path)", "--journal", outbox]

            let missing = try await RunningProgram.run(Programs.built("lockstep"), journal)
            #expect(missing.status == 1)
            #expect(missing.text.contains("journal of default/left: 3 samples accepted, 2 stored once"))
            #expect(missing.text.hasSuffix("incomplete: 1 accepted samples missing\n"), "\(missing.text)")

            try write(IngestGroup(batches: [received(block([3000], x: [4]), "left", position(2))]))
            let different = try await RunningProgram.run(Programs.built("lockstep"), journal)
            #expect(different.status == 1)
            #expect(different.text.contains("stored with other values: 1 of motion/accelerometer, batch 2"))

            // The same journal against a device that has none of it, named.
            let named = try await RunningProgram.run(
                Programs.built("lockstep"),
                ["verify", "--store", "sqlite:\(path)", "--journal", "lab/right=\(outbox)", "--json"])
            #expect(named.status == 1)
            #expect(named.text.contains(#""device":"right","accepted":3,"stored":0,"missing":3"#), "\(named.text)")
        }
    }

    private func lockstep(_ arguments: [String], _ store: String) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep"), arguments, environment: ["LOCKSTEP_STORE": "sqlite:\(store)"])
    }

    /// A store with a gap, duplicates and an active device.
    private func withStore(_ body: (String, Epoch) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            let epoch = try Epoch(validating: "e1")
            let start: Int64 = 1_700_000_000_000_000
            let motion = block([start, start + 10_000], x: [0.5, 0.25])
            var place = SampleBlock(stream: .location)
            place.append(
                time: Timestamp(microseconds: start), values: [46.5, 7.5, .nan, .nan, .nan, .nan, .nan, 3, .nan])
            let left = received(motion, "left", BatchPosition(epoch: epoch, seq: 1))
            let active = LifecycleTransition(
                from: nil, to: .active, since: Timestamp(microseconds: start), reason: "start", seq: 1)
            do {
                _ = try SQLiteStore(path: path).write(
                    IngestGroup(
                        batches: [
                            left, left, received(place, "left", BatchPosition(epoch: epoch, seq: 3)),
                            received(block([start], x: [0.5]), "right", nil, group: "lab"),
                        ],
                        transitions: [DeviceTransition(device: left.device, transition: active)],
                        lifecycles: [left.device: LifecycleSnapshot(last: active)]))
            }
            try await body(path, epoch)
        }
    }

    private func block(_ times: [Int64], x: [Double]) -> SampleBlock {
        SampleBlock(
            stream: .accelerometer, times: times,
            columns: [x, times.map { _ in 0 }, times.map { _ in -1 }])
    }

    private func received(
        _ block: SampleBlock, _ device: String, _ position: BatchPosition?, group: String = "default"
    ) -> ReceivedBatch {
        ReceivedBatch(
            device: DeviceAddress(group: GroupID(unchecked: group), device: DeviceID(unchecked: device)),
            batch: Batch(position: position, samples: block), receivedAt: Timestamp(microseconds: 1_700_000_001_000_000)
        )
    }
}
