import Foundation
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@testable import LockstepServe

@Suite("Metrics as text")
struct MetricsTextTests {
    private func lines(_ snapshot: MetricsSnapshot, limit: Int = 100) -> [String] {
        MetricsText(deviceLimit: limit).render(snapshot).split(separator: "\n").map(String.init)
    }

    private func lines(with name: String, _ snapshot: MetricsSnapshot, limit: Int = 100) -> [String] {
        lines(snapshot, limit: limit).filter { $0.hasPrefix(name + "{") || $0.hasPrefix(name + " ") }
    }

    @Test("a metric has its help, its type and its samples, with units in seconds and bytes")
    func metric() {
        let text = MetricsText().render(.healthy)
        for part in [
            """
            # HELP lockstep_collector_samples_stored_total Samples stored since the start.
            # TYPE lockstep_collector_samples_stored_total counter
            lockstep_collector_samples_stored_total{group="lab",collector="main"} 6100

            """,
            """
            # TYPE lockstep_device_sample_rate_hertz gauge
            lockstep_device_sample_rate_hertz{group="lab",device="walker",stream="location"} 1.0
            lockstep_device_sample_rate_hertz{group="lab",device="walker",stream="motion/accelerometer"} 99.8

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
            promtool, ["check", "metrics"], input: MetricsText().render(.devices(3)))
        #expect(await program.waitForExit() == 0, "\(program.text)")
        #expect(program.text.isEmpty, "\(program.text)")
    }

    @Test("devices beyond the limit are omitted and counted, and the rest do not depend on the order")
    func limit() {
        var snapshot = MetricsSnapshot.devices(150)
        snapshot.devices.reverse()
        let ages = lines(with: "lockstep_device_last_sample_age_seconds", snapshot)
        #expect(ages.count == 100)
        #expect(ages.first?.contains("device-0001") == true && ages.last?.contains("device-0100") == true)
        #expect(lines(with: "lockstep_metrics_devices_omitted", snapshot) == ["lockstep_metrics_devices_omitted 50"])
        #expect(lines(with: "lockstep_devices", snapshot).contains("lockstep_devices{state=\"active\"} 150"))
        #expect(
            !lines(snapshot, limit: 0).contains {
                $0.hasPrefix("lockstep_device_") || $0.contains("HELP lockstep_device_")
            })
        #expect(lines(with: "lockstep_metrics_devices_omitted", .devices(3)) == ["lockstep_metrics_devices_omitted 0"])
    }

    @Test("rates of more than 32 streams of a device are omitted and counted")
    func streamLimit() {
        var snapshot = MetricsSnapshot.healthy
        snapshot.devices[0].rates = Dictionary(uniqueKeysWithValues: (1...40).map { ("x/stream-\($0)", 1) })
        #expect(lines(with: "lockstep_device_sample_rate_hertz", snapshot).count == 32)
        #expect(lines(with: "lockstep_metrics_streams_omitted", snapshot) == ["lockstep_metrics_streams_omitted 8"])
    }

    @Test("what is unknown is left out")
    func unknown() {
        var snapshot = MetricsSnapshot.healthy
        snapshot.devices = [MetricsSnapshot.Device(address: snapshot.devices[0].address)]
        snapshot.collectors = []
        snapshot.server.usage = nil
        let lines = lines(snapshot)
        #expect(
            !lines.contains { $0.contains("lockstep_device_") || $0.contains("collector") || $0.contains("process_") })
        #expect(lines.contains("lockstep_devices{state=\"unknown\"} 1"))
    }

    @Test("a last will reports the status, but no counts, which would look like a restart")
    func lastWill() {
        var snapshot = MetricsSnapshot.healthy
        snapshot.collectors[0].health = CollectorHealth(status: .offline, at: MetricsSnapshot.exampleTime)
        let lines = lines(snapshot)
        #expect(lines.contains("lockstep_collector_status{group=\"lab\",collector=\"main\",status=\"offline\"} 1"))
        #expect(lines.contains("lockstep_collector_status{group=\"lab\",collector=\"main\",status=\"online\"} 0"))
        #expect(
            !lines.contains { $0.hasPrefix("lockstep_collector_samples_") || $0.hasPrefix("lockstep_collector_dev") })
    }

    @Test("a sample of a device with a fast clock has the age 0")
    func fastClock() {
        var snapshot = MetricsSnapshot.healthy
        snapshot.devices[0].lastSample = MetricsSnapshot.exampleTime + 2_000_000
        let ages = lines(with: "lockstep_device_last_sample_age_seconds", snapshot)
        #expect(ages == ["lockstep_device_last_sample_age_seconds{group=\"lab\",device=\"walker\"} 0.0"])
    }

    @Test("the age of a sample in the future is the time since samples have arrived, or unknown")
    func futureSample() {
        var snapshot = MetricsSnapshot.healthy
        snapshot.devices[0].lastSample = MetricsSnapshot.exampleTime + 3_600_000_000
        #expect(lines(with: "lockstep_device_last_sample_age_seconds", snapshot).isEmpty)
        snapshot.devices[0].arrived = MetricsSnapshot.exampleTime - 400_000_000
        let ages = lines(with: "lockstep_device_last_sample_age_seconds", snapshot)
        #expect(ages == ["lockstep_device_last_sample_age_seconds{group=\"lab\",device=\"walker\"} 400.0"])
    }

    @Test("values of labels and help are escaped")
    func escaping() {
        #expect(MetricsWriter.escaped("a\\b\n\"c\"", quote: true) == #"a\\b\n\"c\""#)
        #expect(MetricsWriter.escaped("a\\b\n\"c\"", quote: false) == #"a\\b\n"c""#)
        #expect(MetricsWriter.escaped("\r\n", quote: true) == "\r\\n")
        var writer = MetricsWriter()
        writer.metric("m", .gauge, "A \\ and\na line.") { $0.count(1, [("v", "1.0\"\n")]) }
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
