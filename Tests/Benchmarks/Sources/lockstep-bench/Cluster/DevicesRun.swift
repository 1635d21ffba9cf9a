import Foundation

/// A run of one collector that stores the messages of a fleet in ClickHouse in real time.
struct DevicesRun {
    let programs: String
    /// The folder of all files.
    let folder: String

    private static let connections = 10

    /// Returns the CPU time of collector and ClickHouse for a sample in µs, and the memory of the collector in MB.
    func run(_ fleet: WritesFleet, seconds: Int) throws -> [Double] {
        let broker = try BenchBroker(in: folder)
        defer { broker.stop() }
        let database = try BenchDatabase(in: folder + "/database")
        defer { database.stop() }
        let collector = try Launched(
            programs + "/lockstep-collector",
            ["--broker", broker.url, "--log-level", "error"] + database.options)
        defer { collector.stop() }
        try broker.wait(for: "lockstep/+/$collector/main")
        let load = try WritesLoad(fleet, seconds: seconds, prefill: 0, in: folder)
        try announceDevices(of: load, broker, database)

        let before = (collector: try collector.cpuTime(), database: try database.cpuTime())
        try Launched.run(
            Launched.beside("publish-paced"), ["\(broker.port)", load.messageFile, "\(Self.connections)"])
        try waitUntil("\(load.samples) samples are stored", seconds: 600, every: 100) {
            ((try? database.storedRows()) ?? 0) >= load.samples
        }
        let samples = Double(load.samples)
        let used = (
            collector: try collector.cpuTime() - before.collector, database: try database.cpuTime() - before.database
        )
        return [
            used.collector / samples * 1e6, used.database / samples * 1e6, Double(try collector.peakMemory()) / 1e6,
        ]
    }

    /// Publishes the presence of all devices, and waits until the collector has stored their states.
    private func announceDevices(of load: WritesLoad, _ broker: BenchBroker, _ database: BenchDatabase) throws {
        try Launched.run(Launched.beside("publish-load"), ["\(broker.port)", load.presenceFile])
        try waitUntil("the collector knows \(load.fleet.devices) devices", seconds: 300, every: 200) {
            let text = try? database.servers[0].execute("SELECT uniqExact(device_id) FROM lockstep.received_states")
            return text?.trimmingCharacters(in: .whitespacesAndNewlines) == "\(load.fleet.devices)"
        }
    }
}
