public import LockstepModel

/// The batteries of this machine, from the Linux power supply class.
///
/// Provides a sample when the level changes by one percent or the state changes, and at least every five minutes. A
/// machine with several batteries has one level: the mean, weighted with their capacities. A battery that is removed is
/// reported as unavailable and used again when it returns.
public struct BatterySource: SensorSource {
    /// The root of sysfs: batteries are in `class/power_supply` below it.
    public let sysfsRoot: String
    /// The time between two readings, in µs: reading may cost a transfer over a slow bus.
    public let period: Int64

    private let tree: PowerSupplyTree
    private let demand = DemandSignal()

    /// - Parameter period: µs between two readings, at least 1,000.
    public init(sysfsRoot: String = "/sys", period: Int64 = 10_000_000) {
        self.sysfsRoot = sysfsRoot
        self.period = max(period, 1000)
        tree = PowerSupplyTree(sysfsRoot: sysfsRoot)
    }

    /// `battery`.
    public var name: String { "battery" }

    /// `battery`.
    public var streams: [SensorStream] { [.battery] }

    /// One description per battery, or one with the problem if there is none.
    public func sensors() -> [SensorDescription] {
        let batteries = tree.batteries
        guard !batteries.isEmpty else {
            return [SensorDescription(name: name, stream: .battery, access: "polled", problem: noBattery)]
        }
        return batteries.map { battery in
            let model = battery.text("model_name").flatMap { $0.isEmpty ? nil : $0 }
            return SensorDescription(name: model ?? battery.name, stream: .battery, access: "polled")
        }
    }

    /// Stops reading while the battery is not requested.
    public func setRates(_ rates: [SensorStream: Double]) { demand.set(rates[.battery] != nil) }

    /// Reads until the task is cancelled; never throws.
    public func run(into sink: any SampleSink) async {
        let reader = BatteryReader(tree: tree)
        var changes = BatteryChanges()
        var reported: SourceStatus?
        while !Task.isCancelled {
            await demand.wait()
            if Task.isCancelled { return }
            let (reading, time) = await reader.read()
            let status = reading == nil ? SourceStatus.unavailable(noBattery) : .running
            if status != reported { sink.report(status, from: name) }
            reported = status
            if let reading {
                if changes.isSample(reading, at: time) {
                    var block = SampleBlock(stream: .battery)
                    block.append(time: Timestamp(microseconds: time), values: reading.values)
                    await sink.accept(block, clock: .boot)
                }
            } else {
                changes = BatteryChanges()
            }
            // Only cancellation ends the sleep early, and the loop checks for it.
            try? await Task.sleep(for: .microseconds(period))
        }
    }

    private var noBattery: String {
        "there is no battery in \(tree.folder.path); connect one, or leave out --source battery"
    }
}

/// Reads batteries on its own thread, because reading an attribute may block while a slow bus responds.
private actor BatteryReader {
    private let tree: PowerSupplyTree
    private nonisolated let executor = ThreadExecutor(label: "lockstep.battery")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(tree: PowerSupplyTree) { self.tree = tree }

    /// Returns the charge, and the time of reading in µs of the boot clock.
    func read() -> (reading: BatteryReading?, time: Int64) { (tree.read(), Moment.now().boot) }
}
