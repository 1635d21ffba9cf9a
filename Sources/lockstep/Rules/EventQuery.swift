import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepWire

/// The query of events: `lockstep query events`.
struct EventQuery {
    let group: GroupID?
    let devices: [DeviceArgument]
    let from: Timestamp?
    let to: Timestamp?
    let limit: Int?
    let format: RowFormat

    func run(_ reader: StoreReader) throws {
        let events = try reader.events(
            from: from, to: to, limit: .max
        ).filter { event in
            guard group != nil || !devices.isEmpty else { return true }
            guard let device = event.device else { return false }
            return (group == nil || device.group == group)
                && (devices.isEmpty || devices.contains { $0.selects(device) })
        }
        let lines = Self.lines(events.prefix(limit ?? .max).map { ($0.id, $0.event, $0.acknowledged) }, format)
        Terminal.output.write(lines.map { $0 + "\n" }.joined())
    }

    /// Returns the lines of events in a format. Events without a number have nil.
    static func lines(
        _ events: [(id: Int64?, event: RuleEvent, acknowledged: Timestamp?)], _ format: RowFormat
    ) -> [String] {
        switch format {
        case .text:
            var table = Table([
                .right("EVENT"), "TIME", "DEVICE", "RULE", "SEVERITY", .right("VALUE"), "LATE", "ACKNOWLEDGED", "TEXT",
            ])
            for (id, event, acknowledged) in events {
                table.rows.append([
                    .init(id.map { "\($0)" } ?? "-"), .init(event.time.shown(decimals: 3)), .init(name(event), .bold),
                    .init(event.rule), .init(event.severity.rawValue), .init(event.value.map(number) ?? "-"),
                    .init(event.isLate ? "late" : ""), .init(acknowledged?.shown ?? ""), .init(event.text),
                ])
            }
            return events.isEmpty ? ["no events"] : table.lines(for: .output)
        case .csv:
            return ["event,time,device,rule,value,late,text,acknowledged,severity"]
                + events.map { id, event, acknowledged in
                    [
                        id.map { "\($0)" } ?? "", event.time.description, name(event), event.rule,
                        event.value.map { "\($0)" } ?? "", event.isLate ? "1" : "0", event.text.csvField,
                        acknowledged?.description ?? "", event.severity.rawValue,
                    ].joined(separator: ",")
                }
        case .json:
            return events.map { id, event, acknowledged in
                var object = JSONObjectWriter()
                object.member("event", orNull: id)
                object.member("t", event.time.microseconds)
                object.member("time", event.time.description)
                object.member("device", orNull: event.device?.description)
                object.member("rule", event.rule)
                if let value = event.value, value.isFinite {
                    object.member("value", value)
                } else {
                    object.nullMember("value")
                }
                object.member("late", event.isLate)
                object.member("severity", event.severity.rawValue)
                object.member("text", event.text)
                object.member("acknowledged", orNull: acknowledged?.microseconds)
                return String(decoding: object.finish(), as: UTF8.self)
            }
        }
    }

    private static func name(_ event: RuleEvent) -> String { event.device?.description ?? "collector" }
}
