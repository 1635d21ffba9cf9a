import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepWire

struct ClockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock", abstract: "List the clocks of devices against the collector's clock.",
        usage: "lockstep clock [--store <store>] [<options>]",
        discussion: """
              OFFSET     the device's time minus the collector's, now
              DRIFT      the change of the offset, in ppm
              BOUND      the largest possible error of the offset, now
              AGE        the time since the newest estimate
              COLLECTOR  the collector whose clock is the reference

            The bound grows with the age of the newest estimate. The page docs/clock.md explains the method.
            """)

    @OptionGroup var options: StoreOptions

    @Option(help: "Only devices of this group.", transform: groupID)
    var group: GroupID?

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() throws {
        let reader = try options.reader()
        if let group { try checkGroup(group, among: reader.devices().map(\.address)) }
        let now = Moment.now().wall
        let clocks = try reader.newestClocks().filter { $0.device.group == group ?? $0.device.group }
            .map { DeviceClockNow(device: $0.device, point: $0.point, now: now) }
        if json {
            Terminal.output.write(clocks.map { $0.json + "\n" }.joined())
        } else if clocks.isEmpty {
            Terminal.output.write("no clock estimates\n")
        } else {
            Terminal.output.write(Self.table(clocks).lines(for: .output).joined(separator: "\n") + "\n")
        }
    }

    private static func table(_ clocks: [DeviceClockNow]) -> Table {
        var table = Table(["DEVICE", .right("OFFSET"), .right("DRIFT"), .right("BOUND"), .right("AGE"), "COLLECTOR"])
        for clock in clocks {
            table.rows.append([
                .init(clock.device.description, .bold), "\(fixed(clock.offset / 1000, 3)) ms",
                "\(fixed(clock.drift, 3)) ppm", "\(fixed(clock.bound / 1000, 3)) ms",
                "\(fixed(clock.age, 1)) s", .init(clock.point.collector.rawValue),
            ])
        }
        return table
    }
}

/// The clock of a device at the present time.
struct DeviceClockNow {
    let device: DeviceAddress
    let point: ClockPoint
    /// The device's time minus the collector's, in µs, and its largest possible error.
    let offset: Double
    let bound: Double
    /// The change of the offset, in ppm.
    var drift: Double { Double(point.skew) / 1000 }
    /// The time since the estimate, in s.
    let age: Double

    /// - Parameter now: the present time on the collector's clock.
    init(device: DeviceAddress, point: ClockPoint, now: Timestamp) {
        self.device = device
        self.point = point
        (offset, bound, age) = point.at(collectorTime: now)
    }

    var json: String {
        var object = JSONObjectWriter()
        object.member("group", device.group.rawValue)
        object.member("device", device.device.rawValue)
        object.member("offset_us", offset.rounded())
        object.member("drift_ppm", drift)
        object.member("bound_us", bound.rounded(.up))
        object.member("age_s", (age * 1000).rounded() / 1000)
        object.member("collector", point.collector.rawValue)
        return String(decoding: object.finish(), as: UTF8.self)
    }
}
