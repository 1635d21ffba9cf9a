import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepWire

struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List devices with their state, last sample, sample counts and missing batches.",
        usage: "lockstep devices [--store <store>] [<options>]",
        discussion: """
              AGE          time since the last change of state
              LAST SAMPLE  age of the newest sample
              SAMPLES      stored samples of all streams
              DUPLICATES   samples received again with the same values
              CONFLICTS    samples received again with other values
              ON ITS WAY   batches that are not stored yet: the device still has them,
                           as far as it has reported
              MISSING      batches that are not stored, and the device no longer has them
              DROPPED      batches that will never be stored, because the agent
                           dropped them or the collector rejected them
            """)

    @OptionGroup var options: StoreOptions

    @Option(help: "Only devices of this group.", transform: groupID)
    var group: GroupID?

    @Flag(help: "Also list devices that 'lockstep forget' has removed and that have sent nothing since.")
    var forgotten = false

    @Flag(
        help:
            "List the size of each stream of each device instead, the largest first. It counts all samples of an SQLite store."
    )
    var size = false

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print a JSON array with one object per device. Each time is given in µs since 1970 and in ISO 8601.")
    var json = false

    func run() throws {
        if size {
            let report = try SizeReport(try options.address())
            return Terminal.output.write(json ? report.json(of: group) : report.text(of: group, for: .output))
        }
        let all = try options.reader().devices()
        if let group { try checkGroup(group, among: all.map(\.address)) }
        let devices = all.filter { (group ?? $0.address.group) == $0.address.group && (forgotten || !$0.isForgotten) }
        if json {
            Terminal.output.write("[" + devices.map(Self.json).joined(separator: ",\n ") + "]\n")
        } else if devices.isEmpty {
            Terminal.output.write("no devices\n")
        } else {
            let lines = Self.table(devices, at: Moment.now().wall).lines(for: .output)
            Terminal.output.write(lines.joined(separator: "\n") + "\n")
        }
    }

    static func table(_ devices: [StoredDevice], at now: Timestamp) -> Table {
        var table = Table([
            "DEVICE", "STATE", "SINCE", .right("AGE"), .right("LAST SAMPLE"), .right("SAMPLES"), .right("DUPLICATES"),
            .right("CONFLICTS"), .right("ON ITS WAY"), .right("MISSING"), .right("DROPPED"),
        ])
        for device in devices {
            table.rows.append([
                .init(device.address.description, .bold),
                device.isForgotten
                    ? .init("forgotten", .faint)
                    : .init(device.state?.rawValue ?? "-", device.state?.style ?? .faint),
                .init(device.transition?.since.shown ?? "-"), .init(device.transition?.since.age(at: now) ?? "-"),
                .init(device.lastSample.map { age(of: $0, at: now) } ?? "-"), "\(device.samples)",
                "\(device.duplicates)", .init("\(device.conflicts)", device.conflicts > 0 ? .yellow : .plain),
                "\(device.onItsWay)", .init("\(device.missing)", device.missing > 0 ? .red : .plain),
                .init("\(device.dropped)", device.dropped > 0 ? .red : .plain),
            ])
        }
        return table
    }

    /// Returns the age of a sample. The clock of its device may be slightly fast.
    private static func age(of sample: Timestamp, at now: Timestamp) -> String {
        sample > now + 5_000_000 ? "in \(now.age(at: sample))" : sample.age(at: now) + " ago"
    }

    private static func json(_ device: StoredDevice) -> String {
        var object = JSONObjectWriter()
        object.member("group", device.address.group.rawValue)
        object.member("device", device.address.device.rawValue)
        object.member("state", ifPresent: device.state?.rawValue)
        for (name, time) in [
            ("since", device.transition?.since), ("first_seen", device.firstSeen), ("last_seen", device.lastSeen),
            ("last_sample", device.lastSample),
        ] {
            object.member(name, ifPresent: time?.microseconds)
            object.member(name + "_time", ifPresent: time?.description)
        }
        object.member("samples", device.samples)
        object.member("duplicates", device.duplicates)
        object.member("conflicts", device.conflicts)
        object.member("on_its_way", device.onItsWay)
        object.member("missing", device.missing)
        object.member("dropped", device.dropped)
        if device.isForgotten { object.member("forgotten", true) }
        return String(decoding: object.finish(), as: UTF8.self)
    }
}

extension LifecycleState {
    var style: Terminal.Style {
        switch self {
        case .active, .resumed: .green
        case .inactive: .yellow
        case .background: .blue
        case .terminated: .faint
        }
    }
}
