import Foundation
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@testable import LockstepLive
@testable import LockstepServe

@Suite("Metrics as text")
struct MetricsTextTests {
    private func lines(_ example: MetricsExample, limit: Int = 100) -> [String] {
        example.text(limit: limit).split(separator: "\n").map(String.init)
    }

    private func lines(with name: String, _ example: MetricsExample) -> [String] {
        lines(example).filter { $0.hasPrefix(name + "{") || $0.hasPrefix(name + " ") }
    }

    @Test("a metric has its help, its type and its samples, with units in seconds and bytes")
    func metric() {
        let text = MetricsExample.healthy.text()
        for part in [
            """
            # HELP lockstep_collector_samples_stored_total Samples stored since the start.
            # TYPE lockstep_collector_samples_stored_total counter
            lockstep_collector_samples_stored_total{group="lab",collector="main"} 6100

            """,
            """
            # TYPE lockstep_device_sample_rate_hertz gauge
            lockstep_device_sample_rate_hertz{group="lab",device="walker",stream="location"} 1.0
            lockstep_device_sample_rate_hertz{group="lab",device="walker",stream="motion/accelerometer"} 100.0

            """,
            "\nlockstep_collector_status{group=\"lab\",collector=\"main\",status=\"online\"} 1\n",
            "\nlockstep_collector_status{group=\"lab\",collector=\"main\",status=\"offline\"} 0\n",
            "\nlockstep_collector_build_info{group=\"lab\",collector=\"main\",version=\"0.1.0\"} 1\n",
            "\nlockstep_collector_resident_memory_bytes{group=\"lab\",collector=\"main\"} 28450816\n",
            "\nlockstep_collector_report_timestamp_seconds{group=\"lab\",collector=\"main\"} 1795232032.5\n",
            "\nlockstep_devices{state=\"active\"} 1\n", "\nlockstep_devices{state=\"terminated\"} 0\n",
            "\nlockstep_device_state{group=\"lab\",device=\"walker\",state=\"active\"} 1\n",
            "\nlockstep_device_last_sample_age_seconds{group=\"lab\",device=\"walker\"} 0.25\n",
            "\nlockstep_device_battery_level_ratio{group=\"lab\",device=\"walker\"} 0.83\n",
            "\nlockstep_device_battery_charging{group=\"lab\",device=\"walker\"} 0\n",
            "\nlockstep_device_clock_offset_seconds{group=\"lab\",device=\"walker\",collector=\"main\"} -0.0021\n",
            "\nlockstep_serve_certificate_expiry_timestamp_seconds{certificate=\"server\"} 4102444800.0\n",
            "\nlockstep_metrics_devices_omitted 0\n", "\nlockstep_serve_subscribers{kind=\"live\"} 2\n",
            "\nlockstep_serve_query_duration_seconds_sum 0.25\nlockstep_serve_query_duration_seconds_count 8\n",
            "\nprocess_cpu_seconds_total 2.0\n", "\nprocess_resident_memory_bytes 20480000\n",
            "\nprocess_start_time_seconds 1795000010.0\n",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(text.hasSuffix("\n") && !text.contains("\n\n"))
    }

    @Test("promtool accepts the names, types and units", .enabled(if: TestPrometheus.isInstalled, "no prometheus"))
    func lint() async throws {
        let promtool = try #require(Programs.installed("promtool"))
        let program = try RunningProgram(
            promtool, ["check", "metrics"], input: MetricsExample.devices(3).text())
        #expect(await program.waitForExit() == 0, "\(program.text)")
        #expect(program.text.isEmpty, "\(program.text)")
    }

    @Test("devices beyond the limit are omitted and counted, and the rest do not depend on the order")
    func limit() {
        var example = MetricsExample.devices(150)
        example.live.entries.reverse()
        let ages = lines(with: "lockstep_device_last_sample_age_seconds", example)
        #expect(ages.count == 100)
        #expect(ages.first?.contains("device-0001") == true && ages.last?.contains("device-0100") == true)
        #expect(lines(with: "lockstep_metrics_devices_omitted", example) == ["lockstep_metrics_devices_omitted 50"])
        #expect(lines(with: "lockstep_devices", example).contains("lockstep_devices{state=\"active\"} 150"))
        #expect(
            !lines(example, limit: 0).contains {
                $0.hasPrefix("lockstep_device_") || $0.contains("HELP lockstep_device_")
            })
        #expect(lines(with: "lockstep_metrics_devices_omitted", .devices(3)) == ["lockstep_metrics_devices_omitted 0"])
    }

    @Test("rates of more than 32 streams of a device are omitted and counted")
    func streamLimit() throws {
        var example = MetricsExample.healthy
        for number in 1...38 {
            _ = example.live.entries[0].index(of: try #require(.undeclared("x/stream\(number)")))
        }
        #expect(lines(with: "lockstep_device_sample_rate_hertz", example).count == 32)
        #expect(lines(with: "lockstep_metrics_streams_omitted", example) == ["lockstep_metrics_streams_omitted 8"])
    }

    @Test("what is unknown is left out")
    func unknown() {
        var example = MetricsExample.healthy
        example.live.entries = [LiveDevice(example.live.entries[0].address)]
        example.live.collectors = [:]
        example.server.usage = nil
        let lines = lines(example)
        #expect(!lines.contains { $0.contains("collector") || $0.contains("process_") })
        // The store does not know the device: it has no sample of it.
        #expect(lines.filter { $0.hasPrefix("lockstep_device_") }.allSatisfy { $0.hasSuffix(" 0") })
        #expect(lines.contains("lockstep_devices{state=\"unknown\"} 1"))
    }

    @Test("a last will reports the status, but no counts, which would look like a restart")
    func lastWill() {
        var example = MetricsExample.healthy
        example.live.collectors[MetricsExample.collector] = CollectorHealth(
            status: .offline, at: MetricsExample.time)
        let lines = lines(example)
        #expect(lines.contains("lockstep_collector_status{group=\"lab\",collector=\"main\",status=\"offline\"} 1"))
        #expect(lines.contains("lockstep_collector_status{group=\"lab\",collector=\"main\",status=\"online\"} 0"))
        #expect(
            !lines.contains { $0.hasPrefix("lockstep_collector_samples_") || $0.hasPrefix("lockstep_collector_dev") })
    }

    @Test("samples that were received since the store was read are not counted as stored")
    func received() {
        var example = MetricsExample.healthy
        example.live.entries[0].received = 50
        let stored = lines(with: "lockstep_device_samples_stored_total", example)
        #expect(stored == ["lockstep_device_samples_stored_total{group=\"lab\",device=\"walker\"} 6100"])
    }

    @Test("a device that reports several points of a collector's clock has one offset: the last one")
    func clockPoints() {
        var example = MetricsExample.healthy
        example.live.entries[0].clock?.points.append(MetricsExample.clockPoint(offset: 500_000))
        let offsets = lines(with: "lockstep_device_clock_offset_seconds", example)
        #expect(
            offsets == ["lockstep_device_clock_offset_seconds{group=\"lab\",device=\"walker\",collector=\"main\"} 0.5"])
    }

    @Test("a sample of a device with a fast clock has the age 0")
    func fastClock() {
        var example = MetricsExample.healthy
        example.live.entries[0].newest = MetricsExample.time + 2_000_000
        let ages = lines(with: "lockstep_device_last_sample_age_seconds", example)
        #expect(ages == ["lockstep_device_last_sample_age_seconds{group=\"lab\",device=\"walker\"} 0.0"])
    }

    @Test("the age of a sample in the future is the time since samples have arrived, or unknown")
    func futureSample() {
        var example = MetricsExample.healthy
        example.live.entries[0].newest = MetricsExample.time + 3_600_000_000
        #expect(lines(with: "lockstep_device_last_sample_age_seconds", example).isEmpty)
        example.live.entries[0].arrived = MetricsExample.time - 400_000_000
        let ages = lines(with: "lockstep_device_last_sample_age_seconds", example)
        #expect(ages == ["lockstep_device_last_sample_age_seconds{group=\"lab\",device=\"walker\"} 400.0"])
    }

    @Test("values of labels and help are escaped")
    func escaping() {
        #expect(MetricsWriter.escaped("a\\b\n\"c\"", quote: true) == #"a\\b\n\"c\""#)
        #expect(MetricsWriter.escaped("a\\b\n\"c\"", quote: false) == #"a\\b\n"c""#)
        #expect(MetricsWriter.escaped("\r\n", quote: true) == "\r\\n")
        var writer = MetricsWriter()
        writer.metric("m", "A \\ and\na line.") { $0.count(1, [("v", "1.0\"\n")]) }
        #expect(writer.text == "# HELP m A \\\\ and\\na line.\n# TYPE m gauge\nm{v=\"1.0\\\"\\n\"} 1\n")
    }

    @Test(
        "numbers have the form that Prometheus parses",
        arguments: [
            (0.25, "0.25"), (1e-7, "1e-07"), (1e22, "1e+22"), (-3, "-3.0"), (.nan, "NaN"), (.infinity, "+Inf"),
            (-.infinity, "-Inf"),
        ])
    func numbers(value: Double, text: String) { #expect(MetricsWriter.number(value) == text) }

    @Test("the usage of this process is plausible")
    func usage() throws {
        let usage = try #require(ProcessUsage.now())
        #expect(usage.cpuSeconds > 0 && usage.residentBytes > 1_000_000)
        #expect(usage.virtualBytes > usage.residentBytes)
        let now = Date().timeIntervalSince1970
        #expect(try (now - 3600...now).contains(#require(usage.startTime)))
        #expect(try #require(usage.openDescriptors) >= 3)
        let memory = [UInt8](repeating: 1, count: 50_000_000)
        let later = try #require(ProcessUsage.now())
        #expect(later.residentBytes > usage.residentBytes + memory.count / 2)
        #expect(later.cpuSeconds >= usage.cpuSeconds)
    }

    @Test("the name of a program may contain spaces and brackets")
    func programName() throws {
        let usage = try #require(
            ProcessUsage(
                stat: "7 (a) b (c) S 1 1 1 0 -1 0 0 0 0 0 250 50 0 0 20 0 4 0 1000 8000 5 0", ticksPerSecond: 100,
                pageSize: 4096, bootTime: nil))
        #expect(usage.cpuSeconds == 3 && usage.virtualBytes == 8000 && usage.residentBytes == 20480)
        #expect(usage.startTime == nil)
        #expect(ProcessUsage(stat: "7 (a) S 1", ticksPerSecond: 100, pageSize: 4096, bootTime: nil) == nil)
    }
}
