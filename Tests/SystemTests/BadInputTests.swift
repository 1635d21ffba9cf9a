import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("Bad input", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct BadInputTests {
    private static let batch = #""x":[0,0],"y":[0,0],"z":[1,1]}"#

    /// The topic below the root, the payload, and a part of the expected reason.
    private static let cases: [(topic: String, payload: String, reason: String)] = [
        ("default/bad/motion/accelerometer", "{\"t\":1,", "not valid JSON"),
        ("default/bad/motion/accelerometer", "", "not valid JSON"),
        ("default/bad/motion/accelerometer", "[1,2]", "the payload is not an object"),
        ("default/bad/motion/accelerometer", #"{"t":"now","dt":1,"# + batch, "'t' is not a whole number"),
        (
            "default/bad/motion/accelerometer", #"{"t":1,"dt":1,"x":["a",0],"y":[0,0],"z":[0,0]}"#,
            "'x[0]' is not a number"
        ),
        ("default/bad/motion/accelerometer", #"{"t":1,"dt":1,"x":[NaN,0],"y":[0,0],"z":[0,0]}"#, "no NaN"),
        (
            "default/bad/motion/accelerometer", #"{"t":1,"dt":1,"x":[0],"y":[0,0],"z":[0,0]}"#,
            "has 2 values, but another column has 1"
        ),
        ("default/bad/motion/accelerometer", #"{"t":9000000000000000,"dt":1,"# + batch, "in the future"),
        ("default/bad/motion/accelerometer", #"{"t":4000000000000000,"dt":1,"# + batch, "in the future"),
        ("default/bad/motion/accelerometer", #"{"t":1700000000,"dt":1,"# + batch, "a time in seconds"),
        ("default/bad/motion/accelerometer", #"{"v":2,"t":1,"dt":1,"# + batch, "newer than this program supports"),
        ("default/bad/presence", #"{"phase":"asleep"}"#, "valid phases are"),
        ("default/bad/motion/thermometer", "{}", "is not a channel"),
        ("default/a/b/motion/accelerometer", "{}", "is not a channel"),
        ("default/bad device/steps", "{}", "is not a device id"),
        ("default", "{}", "the topic does not have the form"),
    ]

    @Test("invalid messages are rejected with a reason and counted, and the collector continues")
    func rejected() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect(["lockstep/+/$collector/#"])
            for bad in Self.cases { #expect(await client.publish("lockstep/\(bad.topic)", bad.payload)) }
            let huge = #"{"t":1,"x":["# + String(repeating: "0,", count: 1_000_000) + "0]}"
            #expect(await client.publish("lockstep/default/bad/motion/accelerometer", huge))
            #expect(
                await client.publish(
                    "lockstep/default/good/motion/accelerometer", #"{"t":1700000000000000,"dt":1,"# + Self.batch))

            let reader = try await system.reader()
            try await expectEventually { try reader.devices().contains { $0.address.device.rawValue == "good" } }
            let database = try SQLiteDatabase(path: system.storePath, mode: .readOnly)
            let rows = try database.prepare("SELECT topic, reason, size, head FROM rejected ORDER BY id")
            for bad in Self.cases {
                guard try rows.step() else {
                    Issue.record("nothing was rejected for \(bad)")
                    break
                }
                #expect(rows.text(at: 0) == "lockstep/\(bad.topic)")
                let reason = rows.text(at: 1) ?? ""
                #expect(reason.contains(bad.reason), "\(bad.payload) was rejected with: \(reason)")
                #expect(rows.bytes(at: 3) == Array(bad.payload.utf8.prefix(256)))
            }
            #expect(try rows.step())
            #expect(rows.int64(at: 2) == Int64(huge.utf8.count))
            #expect(rows.text(at: 1)?.contains("bytes: the limit is") == true)
            #expect(rows.bytes(at: 3)?.count == 256)
            #expect(try !rows.step())

            #expect(collector.isRunning)
            let counted = #""rejected":\#(Self.cases.count + 1)"#
            await client.expectMessage { $0.text.contains(counted) }
            let bad = try reader.devices().first { $0.address.device.rawValue == "bad" }
            #expect((bad?.samples ?? 0) == 0)
        }
    }

    @Test("a repeated sample is a duplicate, and another value at the same time is kept as a conflict")
    func conflicts() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect()
            let topic = "lockstep/default/d/motion/gyroscope"
            let payloads = [
                #"{"t":1700000000000000,"dt":10,"x":[1,2],"y":[0,0],"z":[0,0]}"#,
                #"{"t":1700000000000000,"dt":10,"x":[1,2],"y":[0,0],"z":[0,0]}"#,
                #"{"t":1700000000000010,"x":[3],"y":[0],"z":[0]}"#, #"{"t":1700000000000010,"x":[3],"y":[0],"z":[0]}"#,
            ]
            for payload in payloads { #expect(await client.publish(topic, payload)) }
            let reader = try await system.reader()
            try await expectEventually {
                try reader.devices().first.map { $0.samples == 2 && $0.duplicates == 3 && $0.conflicts == 1 }
                    ?? false
            }
        }
    }
}
