import Foundation
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@testable import LockstepLive
@testable import LockstepServe

/// The files in `deploy/monitoring` with a real Prometheus that scrapes rendered metrics.
@Suite("Alert rules and dashboard", .enabled(if: TestPrometheus.isInstalled, "prometheus is not installed"))
struct MonitoringFilesTests {
    private let alerts = Programs.source("deploy/monitoring/alerts.yaml")

    @Test("the alert rules pass their tests, and each one has a test in which it fires")
    func rules() async throws {
        let promtool = try #require(Programs.installed("promtool"))
        for arguments in [
            ["check", "rules", alerts], ["test", "rules", alerts.replacing(".yaml", with: ".test.yaml")],
        ] {
            let run = try await RunningProgram.run(promtool, arguments)
            #expect(run.status == 0, "\(run.text)")
        }
        let tests = try String(contentsOfFile: alerts.replacing(".yaml", with: ".test.yaml"), encoding: .utf8)
        for name in try alertNames() {
            #expect(tests.contains("alertname: \(name)\n        exp_alerts:"), "\(name) has no test")
        }
    }

    @Test("docs/monitoring.md lists every metric and every alert, and no others")
    func documentation() throws {
        let page = try String(contentsOfFile: Programs.source("docs/monitoring.md"), encoding: .utf8)
        let listed = page.matches(of: /\n\| `(\w+)` \|/).map { String($0.1) }
        let metrics = MetricsExample.healthy.text().matches(of: #/# TYPE (\w+) /#).map { String($0.1) }
        #expect(try listed.sorted() == (metrics + alertNames()).sorted())
    }

    @Test("every query of the dashboard has a result, and no alert is pending in a healthy system")
    func healthy() async throws {
        var example = MetricsExample.healthy
        // Prometheus compares the time of the report with its own clock.
        example.live.collectors[MetricsExample.collector]?.at.microseconds = Int64(
            Date().timeIntervalSince1970 * 1_000_000)
        let queries = try Dashboard.load().queries
        #expect(queries.count > 30)
        try await withMetrics(example) { target in
            try await withPrometheus(scraping: [target], rules: alerts) { prometheus in
                // A rate needs two scrapes.
                let isReady = await prometheus.waitForResult(
                    "count_over_time(lockstep_serve_build_info[1m]) > 3")
                #expect(isReady, "\(prometheus.log)")
                for query in queries {
                    let series = try await prometheus.query(query)
                    #expect(!series.isEmpty, "\(query)")
                }
                let alerts = try await prometheus.query("ALERTS")
                #expect(alerts == [])
            }
        }
    }

    @Test("alerts match the labels of the metrics: those of a broken system become pending")
    func pending() async throws {
        let unused = try RefusingPort()
        try await withMetrics(.broken) { target in
            try await withPrometheus(scraping: [target, "127.0.0.1:\(unused.number)"], rules: alerts) { prometheus in
                // These need a change of a counter, or exclude one of the others.
                let excluded: Set = [
                    "LockstepMessagesRejected", "LockstepSamplesConflicting", "LockstepSamplesDropped",
                    "LockstepBrokerDisconnected",
                ]
                let expected = Set(try alertNames()).subtracting(excluded)
                for name in expected {
                    let isPending = await prometheus.waitForResult(
                        "ALERTS{alertname=\"\(name)\"}", within: .seconds(20))
                    #expect(isPending, "\(name): \(prometheus.log)")
                }
                let others = try await prometheus.query("ALERTS{alertname!~\"\(expected.joined(separator: "|"))\"}")
                #expect(others == [])
            }
        }
    }

    private func alertNames() throws -> [String] {
        let names = try String(contentsOfFile: alerts, encoding: .utf8).matches(of: /- alert: (\w+)/).map {
            String($0.1)
        }
        #expect(names.count >= 15 && Set(names).count == names.count)
        return names
    }

    /// Calls `body` with the address of a server whose `/metrics` has the text of an example.
    private func withMetrics(_ example: MetricsExample, _ body: (String) async throws -> Void) async throws {
        let python = try #require(Programs.installed("python3"))
        try await withTemporaryFolder { folder in
            // Two devices at most, so that a third one is omitted.
            try example.text(limit: 2).write(toFile: folder + "/metrics", atomically: true, encoding: .utf8)
            let port = try freePort()
            let server = try RunningProgram(
                python, ["-m", "http.server", "\(port)", "--bind", "127.0.0.1", "--directory", folder])
            try await finally({ await server.stop(SIGKILL) }) {
                try await body("127.0.0.1:\(port)")
            }
        }
    }
}

extension MetricsExample {
    /// A system in which all goes wrong, at the present time.
    fileprivate static var broken: MetricsExample {
        var example = devices(3)
        let now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
        example.at = now
        example.live.collectors[collector]?.status = .stalled
        example.live.collectors[collector]?.at = now - 600_000_000
        example.live.collectors[collector]?.space?.fullAt = now + 86_400_000_000
        example.live.collectors[collector]?.space?.refused = ["steps"]
        let other = CollectorAddress(group: GroupID(unchecked: "field"), collector: collector.collector)
        example.live.collectors[other] = CollectorHealth(status: .offline, at: now)
        for index in 0..<3 { example.live.entries[index].newest = now }
        example.live.entries[0].transition = LifecycleTransition(
            from: .active, to: .background, since: now, reason: "test", seq: 2)
        example.live.entries[0].newest = now - 900_000_000
        example.live.entries[0].counters?.missing = 3
        example.live.entries[0].battery?.level = 0.1
        example.live.entries[0].clock?.points = [clockPoint(offset: -7_200_000_000)]
        example.server.certificates["server"] = now + 86_400_000_000
        example.server.isStoreReadable = false
        example.server.usage?.openDescriptors = 1000
        return example
    }
}
