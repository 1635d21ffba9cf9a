import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepStore

struct DeliveriesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries",
        abstract: "List notifications of rules that are pending, or that were given up (dead letters).")

    @OptionGroup var options: StoreOptions

    @Flag(help: "Only notifications that were given up.")
    var dead = false

    func run() throws {
        guard let reader = try options.reader().events else { throw CommandFailure(StoreOptions.noEvents) }
        let deliveries = (dead ? [] : try reader.deliveries(.pending)) + (try reader.deliveries(.dead))
        guard !deliveries.isEmpty else {
            Terminal.output.write("no notifications are pending or given up\n")
            return
        }
        var table = Table([
            .init("EVENT", isRightAligned: true), .init("TIME"), .init("RULE"), .init("WAY"), .init("STATE"),
            .init("ATTEMPTS", isRightAligned: true), .init("DUE"), .init("ERROR"),
        ])
        for delivery in deliveries {
            table.rows.append([
                .init("\(delivery.event.id)"), .init(delivery.event.time.iso8601Seconds),
                .init(delivery.event.rule), .init(delivery.way),
                .init(delivery.state.rawValue, delivery.state == .dead ? .red : .yellow),
                .init("\(delivery.attempts)"), .init(delivery.due.iso8601Seconds), .init(delivery.error ?? ""),
            ])
        }
        Terminal.output.write(table.lines(for: .output).joined(separator: "\n") + "\n")
    }
}
