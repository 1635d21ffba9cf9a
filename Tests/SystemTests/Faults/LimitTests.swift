import Foundation
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("Limits of a collector", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct LimitTests {
    @Test("messages beyond the limits are rejected with the reason and counted, and the newest ones are kept")
    func rejected() async throws {
        try await withSystem { system in
            let collector = try system.startCollector(
                ["--max-devices", "1", "--max-samples", "2", "--max-payload", "200", "--keep-rejected", "2"])
            try await system.waitForSubscription()
            let client = try await system.connect()
            let sent = [
                ("one", #"{"t":1700000000000000,"x":[0],"y":[0],"z":[-1]}"#, nil),
                ("one", #"{"t":1,"dt":1,"x":[0,0,0],"y":[0,0,0],"z":[0,0,0]}"#, "samples: the limit is 2"),
                ("one", #"{"t":1,"note":"\#(String(repeating: "x", count: 200))"}"#, "bytes: the limit is 200"),
                ("two", #"{"t":1700000000000000,"x":[0],"y":[0],"z":[-1]}"#, "raise the collector's --max-devices"),
            ]
            for (device, payload, reason) in sent {
                #expect(await client.publish("lockstep/default/\(device)/motion/accelerometer", payload))
                if let reason { #expect(await collector.waitForOutput(reason), "\(collector.text)") }
            }
            await client.expectMessage { $0.topic.hasSuffix("/$collector/main") && $0.text.contains(#""rejected":3"#) }
            let store = try SQLiteDatabase(path: system.storePath, mode: .readOnly)
            #expect(try store.integer("SELECT count(*) FROM rejected") == 2)
            #expect(try store.integer("SELECT count(*) FROM devices") == 1)
            #expect(try store.integer("SELECT count(*) FROM accelerometer") == 1)
        }
    }

    @Test("invalid limits are refused", arguments: ["--max-devices", "--max-samples", "--keep-rejected"])
    func refused(_ option: String) async throws {
        let run = try await RunningProgram.run(
            Programs.built("lockstep-collector"), ["--store", "sqlite:x.db", "\(option)=-1"])
        #expect(run.status == 1 && run.text.contains("'-1' is not a whole number from"), "\(run.text)")
    }
}
