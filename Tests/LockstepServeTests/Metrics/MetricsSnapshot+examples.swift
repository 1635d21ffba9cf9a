import LockstepModel
import LockstepWire

@testable import LockstepServe

extension MetricsSnapshot {
    /// The time of the examples.
    static let exampleTime = Timestamp(microseconds: 1_795_232_034_500_000)

    /// A snapshot with a value for every metric. All is well.
    static var healthy: MetricsSnapshot {
        var walker = Device(address: DeviceAddress(group: lab, device: DeviceID(unchecked: "walker")))
        walker.state = .active
        walker.since = exampleTime - 60_000_000
        walker.lastSample = exampleTime - 250_000
        walker.rates = ["motion/accelerometer": 99.8, "location": 1]
        walker.samples = 6100
        walker.duplicates = 40
        walker.conflicts = 0
        walker.missingBatches = 0
        walker.batchesOnTheirWay = 4
        walker.droppedBatches = 1
        walker.droppedSamples = 100
        walker.batteryLevel = 0.83
        walker.isCharging = false
        walker.clockOffsets = ["main": -0.0021]
        let later = Timestamp(microseconds: 4_102_444_800_000_000)
        walker.certificates = ["client": later]
        let usage = ProcessUsage(
            stat: "1 (serve) S 1 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 4 0 1000 80000000 5000 0",
            ticksPerSecond: 100, pageSize: 4096, bootTime: 1_795_000_000)
        var server = Server(
            version: "0.1.0", isBrokerConnected: true, isStoreReadable: true, connections: 3,
            subscribers: ["live": 2, "states": 1], droppedSamples: 5, queries: 8, querySeconds: 0.25, failedQueries: 1,
            usage: usage.map {
                var usage = $0
                usage.openDescriptors = 30
                usage.maxDescriptors = 1024
                return usage
            })
        server.certificates = ["server": later]
        var snapshot = MetricsSnapshot(
            at: exampleTime, collectors: [Collector(group: lab, id: CollectorID(unchecked: "main"), health: .example)],
            devices: [walker], server: server)
        snapshot.collectors[0].health.certificates = ["broker": later]
        snapshot.gateways["lab/main"] = GatewayHealth(
            status: .online, at: exampleTime - 2_000_000, devices: 3, accepted: 70, refused: 5, leftOut: 4,
            refusedLogins: 6,
            outboxBytes: 4096,
            dropped: 1, version: "0.1.0", started: exampleTime - 60_000_000, memory: 20_000_000,
            sparkplug: GatewayHealth.Sparkplug(
                connected: true, nodes: 2, devices: 5, messages: 900, missing: 3, rebirths: 4),
            certificates: ["ca": later])
        return snapshot
    }

    static let lab = GroupID(unchecked: "lab")

    /// Returns a snapshot with this many devices.
    static func devices(_ count: Int) -> MetricsSnapshot {
        var snapshot = healthy
        snapshot.devices = (1...count).map { number in
            var device = snapshot.devices[0]
            let name = "device-" + String(repeating: "0", count: 4 - String(number).count) + String(number)
            device.address = DeviceAddress(group: lab, device: DeviceID(unchecked: name))
            return device
        }
        return snapshot
    }
}

extension CollectorHealth {
    /// A report of a running collector.
    static let example = CollectorHealth(
        status: .online, at: MetricsSnapshot.exampleTime - 2_000_000, devices: 2, stored: 6100, duplicates: 40,
        conflicts: 3, rejected: 4, dropped: 100, version: "0.1.0",
        started: MetricsSnapshot.exampleTime - 60_000_000, memory: 28_450_816, memoryPeak: 30_000_000,
        space: CollectorHealth.Space(
            file: 9_000_000, log: 50_000, free: 4096, limit: 20_000_000,
            fullAt: MetricsSnapshot.exampleTime + 1000 * 86_400_000_000, expired: 7, late: 1))
}
