import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepSensors
import LockstepWire

struct SensorsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sensors", abstract: "List the sensors and their problems.",
        usage: "lockstep-agent sensors [--source <source> ...] [<options>]",
        discussion: """
            The default source is iio, the sensors of this machine. The agent's settings in the environment and in \
            the file also apply here. The exit status is 1 if no sensor can be used.
            """)

    @OptionGroup var selection: Options<SourceSettings>

    @OptionGroup var file: SettingsFile

    @Flag(help: "Print a JSON array with one object per sensor.")
    var json = false

    func run() throws {
        let settings = try Settings(of: [SourceSettings.self], file: file.config, ignoresUnknownKeys: true)
        let sources = try selection.sources(settings, standard: "iio")
        let sensors = sources.flatMap { $0.sensors() }
        let failures = sources.compactMap { ($0 as? IIOSource)?.failure }
        if json {
            Terminal.output.write("[" + sensors.map(Self.json).joined(separator: ",\n ") + "]\n")
        } else if !sensors.isEmpty {
            Terminal.output.write(Self.table(sensors).lines(for: .output).joined(separator: "\n") + "\n")
        }
        guard !sensors.contains(where: { $0.problem == nil }) else {
            for failure in failures { Terminal.writeError(failure.description) }
            return
        }
        throw CommandFailure(failures.first?.description ?? "no usable sensor found")
    }

    static func table(_ sensors: [SensorDescription]) -> Table {
        let hasLabels = sensors.contains { $0.label != nil || $0.location != nil }
        var table = Table(
            [.init("NAME")] + (hasLabels ? [.init("LABEL")] : []) + [
                .init("STREAM"), .right("RATES"), .init("UNIT"), .init("ACCESS"),
                .init("MOUNT MATRIX"), .init("PROBLEM"),
            ])
        for sensor in sensors {
            let label = hasLabels ? [Table.Cell(label(sensor))] : []
            table.rows.append(
                [.init(sensor.name.printable, .bold)] + label + [
                    .init(sensor.stream.name), .init(rates(sensor)),
                    .init(units(of: sensor.stream)), .init(sensor.access.isEmpty ? "-" : sensor.access.printable),
                    .init(mountMatrix(sensor)),
                    .init(
                        (sensor.problem ?? sensor.warning)?.printable ?? "-",
                        sensor.problem != nil ? .red : sensor.warning != nil ? .yellow : .faint),
                ])
        }
        return table
    }

    private static func label(_ sensor: SensorDescription) -> String {
        let texts = [sensor.label, sensor.location].compactMap { $0?.printable }
        return texts.isEmpty ? "-" : texts.joined(separator: ", ")
    }

    private static func rates(_ sensor: SensorDescription) -> String {
        guard let rates = sensor.rates else { return "-" }
        let slowest = number(rates.lowerBound)
        return rates.lowerBound == rates.upperBound ? "\(slowest) Hz" : "\(slowest)-\(number(rates.upperBound)) Hz"
    }

    /// Returns the units of a stream's columns, without the times.
    private static func units(of stream: SensorStream) -> String {
        if stream == .steps { return "steps" }
        var units: [String] = []
        for unit in stream.columns.map(\.unit) where !unit.isEmpty && !unit.hasPrefix("µs") && !units.contains(unit) {
            units.append(unit)
        }
        return units.isEmpty ? "-" : units.joined(separator: " ")
    }

    private static func mountMatrix(_ sensor: SensorDescription) -> String {
        guard let matrix = sensor.mountMatrix else { return "-" }
        return matrix.map { $0.map(number).joined(separator: " ") }.joined(separator: "; ")
    }

    private static func number(_ value: Double) -> String { Int64(exactly: value).map(String.init) ?? "\(value)" }

    private static func json(_ sensor: SensorDescription) -> String {
        var object = JSONObjectWriter()
        object.member("name", sensor.name)
        object.member("label", ifPresent: sensor.label)
        object.member("location", ifPresent: sensor.location)
        object.member("stream", sensor.stream.name)
        if let rates = sensor.rates {
            object.member("rates", [rates.lowerBound, rates.upperBound]) { $0.raw(number($1)) }
        }
        object.member("unit", units(of: sensor.stream))
        object.member("access", sensor.access)
        if let matrix = sensor.mountMatrix {
            object.member("mount_matrix", matrix) { writer, row in
                writer.raw("[" + row.map(number).joined(separator: ",") + "]")
            }
        }
        object.member("problem", ifPresent: sensor.problem)
        object.member("warning", ifPresent: sensor.warning)
        return String(decoding: object.finish(), as: UTF8.self)
    }
}
