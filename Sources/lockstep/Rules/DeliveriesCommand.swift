import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepWire

struct DeliveriesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries",
        abstract: "List notifications of rules that are pending, or that were given up (dead letters).",
        usage: "lockstep deliveries [--store <store>] [--dead] [--local] [--json]")

    @OptionGroup var options: StoreOptions

    @Flag(help: "Only notifications that were given up.")
    var dead = false

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() throws {
        let reader = try options.reader()
        let deliveries = (dead ? [] : try reader.deliveries(.pending)) + (try reader.deliveries(.dead))
        if json {
            for delivery in deliveries { Terminal.output.write(Self.json(delivery) + "\n") }
            return
        }
        guard !deliveries.isEmpty else {
            Terminal.output.write("no notifications are pending or given up\n")
            return
        }
        var table = Table([.right("EVENT"), "TIME", "RULE", "TARGET", "STATE", .right("ATTEMPTS"), "DUE", "ERROR"])
        for delivery in deliveries {
            table.rows.append([
                "\(delivery.event.id)", .init(delivery.event.time.shown),
                .init(delivery.event.rule), .init(delivery.way),
                .init(delivery.state.rawValue, delivery.state == .dead ? .red : .yellow),
                "\(delivery.attempts)", .init(delivery.due.shown), .init(delivery.error ?? ""),
            ])
        }
        Terminal.output.write(table.text(for: .output))
    }

    private static func json(_ delivery: EventDelivery) -> String {
        var object = JSONObjectWriter()
        object.member("event", delivery.event.id)
        object.member("t", delivery.event.time.microseconds)
        object.member("time", delivery.event.time.description)
        object.member("device", orNull: delivery.event.device?.description)
        object.member("rule", delivery.event.rule)
        object.member("target", delivery.way)
        object.member("state", delivery.state.rawValue)
        object.member("attempts", Int64(delivery.attempts))
        object.member("due", delivery.due.microseconds)
        object.member("error", orNull: delivery.error)
        return String(decoding: object.finish(), as: UTF8.self)
    }
}
