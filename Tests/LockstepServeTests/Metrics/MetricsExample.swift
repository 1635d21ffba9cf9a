import LockstepModel
import LockstepWire

@testable import LockstepLive
@testable import LockstepServe

/// A system at one time, as `/metrics` reports it.
struct MetricsExample {
    var live = LiveDevices(root: .standard)
    var server: ServerFigures
    var at = MetricsExample.time

    /// The time of the examples.
    static let time = Timestamp(microseconds: 1_795_232_034_500_000)
    private static let boot: Int64 = 1_000_000_000
    private static let later = Timestamp(microseconds: 4_102_444_800_000_000)
    private static let lab = GroupID(unchecked: "lab")
    static let collector = CollectorAddress(group: lab, collector: CollectorID(unchecked: "main"))

    /// Returns the text of the metrics.
    func text(limit: Int = 100) -> String {
        MetricsText(deviceLimit: limit).render(live, server, at: Moment(wall: at, boot: Self.boot, awake: Self.boot))
    }

    /// A system with a value for every metric. All is well.
    static var healthy: MetricsExample {
        var usage = ProcessUsage(
            stat: "1 (serve) S 1 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 4 0 1000 80000000 5000 0",
            ticksPerSecond: 100, pageSize: 4096, bootTime: 1_795_000_000)
        usage?.openDescriptors = 30
        usage?.maxDescriptors = 1024
        var example = MetricsExample(
            server: ServerFigures(
                version: "0.1.0", isBrokerConnected: true, isStoreReadable: true, certificates: ["server": later],
                connections: 3, refusedConnections: 0, refusedLogins: 0, unsentBytes: 0,
                subscribers: ["live": 2, "states": 1], droppedSamples: 5,
                queries: .init(reads: 8, failures: 1, duration: .milliseconds(250)), usage: usage))
        example.live.entries = [device("walker")]
        example.live.collectors[collector] = .example
        example.live.collectors[collector]?.certificates = ["broker": later]
        example.live.gateways["lab/main"] = GatewayHealth(
            status: .online, at: time - 2_000_000, devices: 3, accepted: 70, refused: 5, leftOut: 4,
            refusedLogins: 6, outboxBytes: 4096, dropped: 1, version: "0.1.0", started: time - 60_000_000,
            memory: 20_000_000,
            sparkplug: GatewayHealth.Sparkplug(
                connected: true, nodes: 2, devices: 5, messages: 900, missing: 3, rebirths: 4),
            certificates: ["ca": later])
        return example
    }

    private static func device(_ name: String) -> LiveDevice {
        var device = LiveDevice(DeviceAddress(group: lab, device: DeviceID(unchecked: name)))
        device.transition = LifecycleTransition(
            from: nil, to: .active, since: time - 60_000_000, reason: "start", seq: 1)
        device.newest = time - 250_000
        for (stream, interval, count) in [(SensorStream.accelerometer, 10_000, 100), (.location, 1_000_000, 2)] {
            let index = device.index(of: stream)
            device.streams[index].arrivals.add(
                (0..<count).map { Int64($0 * interval) }, at: boot, window: 10_000_000)
        }
        device.counters = StoredCounters(samples: 6100, duplicates: 40, onItsWay: 4)
        device.presence = Presence(
            epoch: nil, session: nil, phase: .foreground, at: nil, dropped: [7...7], droppedSamples: 100,
            certificates: ["client": later])
        device.battery = LiveBattery(level: 0.83, isCharging: false, at: time)
        device.clock = ClockReport(points: [clockPoint(offset: -2100)])
        return device
    }

    /// Returns a report that the clock is off by this number of µs from that of the collector.
    static func clockPoint(offset: Int64) -> ClockPoint {
        ClockPoint(
            collector: collector.collector, time: time, segment: time, offset: offset, skew: 0, bound: 0, skewBound: 0)
    }

    /// Returns a system with this many devices.
    static func devices(_ count: Int) -> MetricsExample {
        var example = healthy
        example.live.entries = (1...count).map { number in
            device("device-" + String(repeating: "0", count: 4 - String(number).count) + String(number))
        }
        return example
    }
}

extension CollectorHealth {
    /// A report of a running collector.
    static let example = CollectorHealth(
        status: .online, at: MetricsExample.time - 2_000_000, devices: 2, stored: 6100, duplicates: 40,
        conflicts: 3, rejected: 4, dropped: 100, version: "0.1.0",
        started: MetricsExample.time - 60_000_000, memory: 28_450_816, memoryPeak: 30_000_000,
        space: CollectorHealth.Space(
            file: 9_000_000, log: 50_000, free: 4096, limit: 20_000_000,
            fullAt: MetricsExample.time + 1000 * 86_400_000_000, expired: 7, late: 1))
}
