import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

/// Rules of a collector with a ClickHouse store, compared with those of a collector with an SQLite store.
@Suite(
    "Rules of a collector with a ClickHouse store", .serialized,
    .enabled(
        if: Programs.isInstalled("mosquitto") && TestClickHouse.isInstalled,
        "mosquitto or clickhouse-server is not installed"))
struct ClickHouseRuleTests {
    private static let rules = """
        targets: {bus: {mqtt: event}}
        rules:
          high: {when: {value: pressure.pressure, above: 10}, to: bus, late-after: 10m}
          held: {when: {value: pressure.pressure, above: 10, for: 2s}, late-after: 10m}
          walked: {when: {steps: 100}, to: bus, late-after: 10m, severity: info}
        """

    @Test("a collector that is killed again and again has the events of one that is not")
    func kills() async throws {
        try await withClickHouse { server in
            try await withSystem(isPersistent: true) { system in
                let file = system.folder + "/rules.yaml"
                try Self.rules.write(toFile: file, atomically: true, encoding: .utf8)
                let client = try await system.connect(["lockstep/+/+/event"])
                _ = try system.startCollector(["--rules", file])
                try await system.waitForSubscription()
                func start() throws -> RunningProgram {
                    try system.start(
                        "lockstep-collector",
                        [
                            "--broker", system.broker.url, "--id", "other", "--store", server.url(), "--sync", "normal",
                            "--rules", file,
                        ])
                }
                var collector = try start()
                #expect(await collector.waitForOutput("connected to"))
                let first = Int64(Date().timeIntervalSince1970 * 1e6) - 300_000_000
                for number in 0..<80 {
                    let device = number.isMultiple(of: 2) ? "ant" : "bee"
                    for (topic, payload) in Self.batches(number, start: first) {
                        #expect(await client.publish("lockstep/lab/\(device)/\(topic)", payload))
                        // Every third one arrives twice.
                        if number % 3 == 0 { #expect(await client.publish("lockstep/lab/\(device)/\(topic)", payload)) }
                    }
                    if number % 10 == 9 {
                        await collector.stop(SIGKILL)
                        collector = try start()
                    }
                }
                let reader = try await system.reader()
                let count = "SELECT count() FROM pressure"
                try await expectEventually(collector.text) { try await server.execute(count) == ["320"] }
                try await expectEventually(collector.text) {
                    try await server.execute("SELECT count() FROM deliveries WHERE state = 'pending'") == ["0"]
                }
                let expected = try reader.events().map {
                    "\($0.rule)\t\($0.device?.device.rawValue ?? "")\t\($0.time.microseconds)\t\(Int($0.value ?? 0))\t"
                        + $0.severity.rawValue
                }.sorted()
                let found = try await server.execute(
                    """
                    SELECT rule, device, t, toInt64(value), severity FROM events
                    ANY LEFT JOIN (SELECT device_id, device FROM devices) AS named USING device_id
                    """)
                #expect(found.sorted() == expected)
                #expect(expected.count > 100, "\(expected.count)")
                let query = try await RunningProgram.run(
                    Programs.built("lockstep"), ["query", "events", "--csv", "--store", server.url()])
                #expect(query.text.split(separator: "\n").count == expected.count + 1)
                let deliveries = try await RunningProgram.run(
                    Programs.built("lockstep"), ["deliveries", "--store", server.url()])
                #expect(deliveries.text.contains("no notifications are pending or given up"), "\(deliveries.text)")
                await collector.stop(SIGTERM)
            }
        }
    }

    @Test("a rule about the disk of the store is refused")
    func disk() async throws {
        try await withTemporaryFolder { folder in
            let file = folder + "/rules.yaml"
            try "rules: {full: {when: {health: disk, below: 10 %}}}".write(
                toFile: file, atomically: true, encoding: .utf8)
            let result = try await RunningProgram.run(
                Programs.built("lockstep-collector"),
                ["--broker", "mqtt://localhost", "--store", "clickhouse://localhost/x", "--rules", file])
            #expect(result.status != 0 && result.text.contains("the rule 'full' is about the disk"), "\(result.text)")
        }
    }

    /// Returns batches of 4 s: pressures that pass the limit, and steps.
    private static func batches(_ number: Int, start: Int64) -> [(topic: String, payload: String)] {
        let time = start + Int64(number / 2) * 4_000_000
        let seq = number / 2 * 2
        let values = ["5,11,11,11", "11,5,11,5", "5,5,11,11", "12,12,12,12"][number / 2 % 4]
        return [
            (
                "pressure",
                #"{"v":1,"epoch":"E1","seq":\#(seq + 1),"t":\#(time),"dt":1000000,"pressure":[\#(values)]}"#
            ),
            (
                "steps",
                #"{"v":1,"epoch":"E1","seq":\#(seq + 2),"t":\#(time),"start":[\#(time - 1_000_000)],"steps":[7]}"#
            ),
        ]
    }
}
