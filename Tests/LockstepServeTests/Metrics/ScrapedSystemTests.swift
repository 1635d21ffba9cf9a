import Foundation
import LockstepTestSupport
import Testing

/// `lockstep-serve` in a running system, scraped by a real Prometheus.
@Suite(
    "Metrics of a running system", .serialized,
    .enabled(if: TestPrometheus.isInstalled && Programs.isInstalled("mosquitto"), "prometheus or mosquitto is missing"))
struct ScrapedSystemTests {
    @Test("every query of the dashboard has a result, no alert is pending, and promtool accepts the text")
    func healthy() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            _ = try system.startAgent("walker", ["--group", "lab"])
            let server = try await TestServer(system)
            let alerts = Programs.source("deploy/monitoring/alerts.yaml")
            try await withPrometheus(scraping: ["127.0.0.1:\(server.port)"], rules: alerts) { prometheus in
                for expression in [
                    "lockstep_collector_samples_stored_total > 0", "lockstep_device_samples_stored_total > 0",
                    "lockstep_device_state{group=\"lab\",device=\"walker\",state=\"active\"} == 1",
                    "lockstep_device_sample_rate_hertz{stream=\"motion/accelerometer\"} > 50",
                    "lockstep_device_battery_level_ratio > 0", "lockstep_serve_broker_connected == 1",
                    "lockstep_serve_store_readable == 1", "process_cpu_seconds_total > 0",
                ] {
                    #expect(await prometheus.waitForResult(expression), "\(expression) \(server.program.text)")
                }
                // A rate needs two scrapes.
                #expect(await prometheus.waitForResult("count_over_time(lockstep_device_battery_level_ratio[1m]) > 2"))
                for query in try Dashboard.load().queries {
                    let series = try await prometheus.query(query)
                    #expect(!series.isEmpty, "\(query)")
                }
                let pending = try await prometheus.query("ALERTS")
                #expect(pending == [])
            }
            let answer = try await server.get("/metrics")
            #expect(answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            let promtool = try #require(Programs.installed("promtool"))
            let lint = try RunningProgram(promtool, ["check", "metrics"], input: answer.body)
            #expect(await lint.waitForExit() == 0, "\(lint.text)")
        }
    }

    @Test("the health of a killed collector and a stopped device reaches Prometheus")
    func faults() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            try await system.waitForSubscription()
            let agent = try system.startAgent("walker")
            let server = try await TestServer(system, ["--metrics-devices", "1"])
            try await withPrometheus(scraping: ["127.0.0.1:\(server.port)"]) { prometheus in
                #expect(await prometheus.waitForResult("lockstep_device_state{state=\"active\"} == 1"))
                _ = try system.startAgent("rover")
                #expect(await prometheus.waitForResult("lockstep_metrics_devices_omitted == 1"))
                // The first device in the order of names has metrics.
                #expect(await prometheus.waitForResult("lockstep_device_state{device=\"rover\",state=\"active\"} == 1"))
                #expect(await prometheus.waitForResult("lockstep_devices{state=\"active\"} == 2"))
                await agent.stop()
                #expect(await prometheus.waitForResult("lockstep_devices{state=\"terminated\"} == 1"))
                await collector.stop(SIGKILL)
                #expect(await prometheus.waitForResult("lockstep_collector_status{status=\"offline\"} == 1"))
                #expect(await prometheus.waitForResult("absent(lockstep_collector_samples_stored_total)"))
            }
        }
    }
}
