import Foundation
import LockstepTestSupport
import Testing

/// What the collectors of a cluster have stored and published.
struct StoredCluster {
    /// The devices, as `GROUP/DEVICE`.
    let devices: [String]
    /// Executes a SELECT statement in the database of the cluster.
    /// - Returns: the rows as text, with a tab between two values.
    let query: (_ statement: String) async throws -> [String]

    init(devices: [String], query: @escaping (_ statement: String) async throws -> [String]) {
        self.devices = devices
        self.query = query
    }

    init(server: TestClickHouse, devices: [String]) {
        self.init(devices: devices) { try await server.execute($0) }
    }

    /// Returns whether each device has more samples before the limit.
    func hasProgress(within limit: Duration) async -> Bool {
        guard let before = try? await counts() else { return false }
        return await eventually(within: limit) {
            guard let now = try? await counts() else { return false }
            return devices.allSatisfy { now[$0, default: 0] > before[$0, default: 0] + 20 }
        }
    }

    /// Waits until each device has more samples.
    /// - Parameter silent: devices that do not count.
    func expectProgress(
        _ step: String, _ collectors: [String: RunningProgram], except silent: Set<String> = [],
        within limit: Duration = .seconds(90)
    ) async throws {
        let before = (try? await counts()) ?? [:]
        let isReached = await eventually(within: limit) {
            guard let now = try? await counts() else { return false }
            return devices.allSatisfy { silent.contains($0) || now[$0, default: 0] > before[$0, default: 0] + 20 }
        }
        let logs = collectors.map { "\($0.key): \($0.value.text.suffix(3000))" }.joined(separator: "\n")
        let after = (try? await counts()) ?? [:]
        try #require(isReached, "\(step): \(before)\n\(after)\n\(logs)")
    }

    /// Runs `lockstep verify` against the journals of the devices, and expects that the store is complete.
    /// - Parameter outbox: returns the path of the outbox of a device.
    func expectComplete(
        at store: String, outbox: (_ device: String) -> String, states client: TestClient
    ) async throws {
        let verification = try await RunningProgram.run(
            Programs.built("lockstep"),
            ["verify", "--store", store] + devices.flatMap { ["--journal", "\($0)=\(outbox($0))"] },
            within: .seconds(300))
        try await expectComplete(verification, states: client.messages.map { ($0.topic, $0.payload) })
    }

    private func counts() async throws -> [String: Int] {
        let rows = try await query(
            "SELECT concat(group_name, '/', device), count() FROM v_accelerometer GROUP BY group_name, device")
        return Dictionary(
            rows.compactMap { row in
                let parts = row.split(separator: "\t")
                return parts.count == 2 ? Int(parts[1]).map { (String(parts[0]), $0) } : nil
            }
        ) { first, _ in first }
    }

    /// Expects that the store has every accepted sample once, and each state in the version that was published.
    /// - Parameters:
    ///   - verification: the result of `lockstep verify` with the journals of all devices.
    ///   - states: the messages with the states.
    func expectComplete(
        _ verification: (status: Int32, text: String), states: [(topic: String, payload: [UInt8])]
    ) async throws {
        #expect(verification.status == 0, "\(verification.text)")
        try await expectSamplesOnce()
        try await expectStatesOnce(states)
    }

    /// Expects that all rows of a sample are equal, so that they merge. The view would hide others.
    private func expectSamplesOnce() async throws {
        let different = try await query(
            """
            SELECT device_id, t FROM received_accelerometer GROUP BY device_id, t
            HAVING uniqExact((x, y, z)) > 1 OR uniqExact(_values_hash) > 1
            """)
        #expect(different.isEmpty, "\(different)")
        #expect(try await query("SELECT count() FROM conflicts") == ["0"])
    }

    /// Expects that no transition was published in two versions, and that the store has the published ones.
    private func expectStatesOnce(_ messages: [(topic: String, payload: [UInt8])]) async throws {
        struct State: Decodable {
            let seq: Int
            let state: String
            let since: Int
            let reason: String
        }
        var texts: [String: Set<String>] = [:]
        for message in messages where message.topic.hasSuffix("/state") {
            let state = try JSONDecoder().decode(State.self, from: Data(message.payload))
            let device = message.topic.split(separator: "/").dropFirst().prefix(2).joined(separator: "/")
            texts["\(device) \(state.seq)", default: []].insert("\(state.state) \(state.since) \(state.reason)")
        }
        let stored = try await query(
            """
            SELECT concat(group_name, '/', device, ' ', toString(seq)),
                concat(states.state, ' ', toString(states.since), ' ', states.reason)
            FROM (SELECT device_id, seq, state, since, reason FROM states) AS states
            ANY LEFT JOIN (SELECT device_id, group_name, device FROM devices) AS named USING device_id
            """)
        #expect(!stored.isEmpty)
        for (key, versions) in texts { #expect(versions.count == 1, "\(key): \(versions)") }
        for row in stored {
            let parts = row.split(separator: "\t").map(String.init)
            try #require(parts.count == 2)
            if let told = texts[parts[0]] { #expect(told == [parts[1]], "\(parts[0])") }
        }
        let keys = Set(stored.compactMap { $0.split(separator: "\t").first.map(String.init) })
        #expect(Set(texts.keys).isSubset(of: keys), "published, but not stored")
        // Several rows of a transition are allowed: each takeover writes the last one again, and rows of an earlier claim
        // do not count. No claim may write two versions, which the view would hide.
        let different = try await query(
            """
            SELECT device_id, seq, bitShiftRight(version, 32) AS token FROM received_states
            GROUP BY device_id, seq, token HAVING uniqExact((state, since, ifNull(previous, ''), reason)) > 1
            """)
        #expect(different.isEmpty, "stored in several versions: \(different)")
    }
}
