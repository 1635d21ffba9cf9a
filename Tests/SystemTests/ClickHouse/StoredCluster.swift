import Foundation
import LockstepTestSupport
import Testing

/// What the collectors of a cluster have stored and published.
struct StoredCluster {
    let server: TestClickHouse
    /// The devices, as `GROUP/DEVICE`.
    let devices: [String]

    /// Waits until each device has more samples.
    func expectProgress(
        _ step: String, _ collectors: [String: RunningProgram], within limit: Duration = .seconds(90)
    ) async throws {
        let before = (try? await counts()) ?? [:]
        let isReached = await eventually(within: limit) {
            guard let now = try? await counts() else { return false }
            return devices.allSatisfy { now[$0, default: 0] > before[$0, default: 0] + 20 }
        }
        let logs = collectors.map { "\($0.key): \($0.value.text.suffix(3000))" }.joined(separator: "\n")
        let after = (try? await counts()) ?? [:]
        try #require(isReached, "\(step): \(before)\n\(after)\n\(logs)")
    }

    private func counts() async throws -> [String: Int] {
        let rows = try await server.execute(
            "SELECT concat(group_name, '/', device), count() FROM v_accelerometer GROUP BY group_name, device")
        return Dictionary(
            rows.compactMap { row in
                let parts = row.split(separator: "\t")
                return parts.count == 2 ? Int(parts[1]).map { (String(parts[0]), $0) } : nil
            }
        ) { first, _ in first }
    }

    /// Expects that all rows of a sample are equal, so that they merge. The view would hide others.
    func expectSamplesOnce() async throws {
        let different = try await server.execute(
            """
            SELECT device_id, t FROM received_accelerometer GROUP BY device_id, t
            HAVING uniqExact((x, y, z)) > 1 OR uniqExact(_values_hash) > 1
            """)
        #expect(different.isEmpty, "\(different)")
        #expect(try await server.execute("SELECT count() FROM conflicts") == ["0"])
    }

    /// Expects that no transition was published in two versions, and that the store has the published ones.
    func expectStatesOnce(_ client: TestClient) async throws {
        struct State: Decodable {
            let seq: Int
            let state: String
            let since: Int
            let reason: String
        }
        var texts: [String: Set<String>] = [:]
        for message in client.messages where message.topic.hasSuffix("/state") {
            let state = try JSONDecoder().decode(State.self, from: Data(message.payload))
            let device = message.topic.split(separator: "/").dropFirst().prefix(2).joined(separator: "/")
            texts["\(device) \(state.seq)", default: []].insert("\(state.state) \(state.since) \(state.reason)")
        }
        let stored = try await server.execute(
            """
            SELECT concat(group_name, '/', device, ' ', toString(seq)),
                concat(states.state, ' ', toString(states.since), ' ', states.reason)
            FROM (SELECT device_id, seq, state, since, reason FROM states) AS states
            ANY INNER JOIN (SELECT device_id, group_name, device FROM devices) USING device_id
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
        let different = try await server.execute(
            """
            SELECT device_id, seq, bitShiftRight(version, 32) AS token FROM received_states
            GROUP BY device_id, seq, token HAVING uniqExact((state, since, ifNull(previous, ''), reason)) > 1
            """)
        #expect(different.isEmpty, "stored in several versions: \(different)")
    }
}
