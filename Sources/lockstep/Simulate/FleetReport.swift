import LockstepCommandLine
import LockstepFleet
import LockstepModel

/// What `lockstep simulate` found, as text; as JSON in `FleetReport+json.swift`.
struct FleetReport {
    let outcome: FleetOutcome

    /// Whether a collector acknowledged everything.
    var isComplete: Bool { outcome.lost.batches == 0 }

    /// By subject, with the name of each: what memory is known of.
    var memories: [(name: String, series: MemorySeries)] {
        outcome.collectors.collectors.sorted { $0.key < $1.key }.map { ("collector \($0.key)", $0.value.memory) }
            + [("broker", outcome.brokerMemory), ("simulator", outcome.ownMemory)]
    }

    func text(for terminal: Terminal) -> String {
        let plan = outcome.plan
        let counts = outcome.collectors.counts
        let streams = plan.streams.map(\.name).joined(separator: ", ")
        var lines = [
            terminal.styled(
                "\(plan.devices) devices over \(outcome.connections) connections, \(fixed(seconds, 0)) s", .bold),
            "\(streams), \(fixed(plan.rate, 1)) Hz, batches of \(fixed(Double(plan.window) / 1e6, 2)) s", "",
        ]
        lines += amounts(terminal, counts) + [""] + lags(terminal) + [""] + memory(terminal) + [""]
        lines += notes.map { terminal.styled($0, .yellow) }
        lines.append(verdict(terminal))
        return lines.joined(separator: "\n") + "\n"
    }

    private var seconds: Double { Double(outcome.elapsed) / 1e6 }

    private func amounts(_ terminal: Terminal, _ counts: CollectorWatch.Counts) -> [String] {
        var table = Table([
            .init(""), .init("batches", isRightAligned: true), .init("samples", isRightAligned: true),
        ])
        table.rows = [
            ["sent", "\(outcome.sent.batches)", "\(outcome.sent.samples)"].map { Table.Cell($0) },
            ["sent again", "\(outcome.resent)"].map { Table.Cell($0) },
            ["confirmed by the broker", "\(outcome.confirmed)"].map { Table.Cell($0) },
            ["acknowledged by a collector", "\(outcome.acknowledged.batches)", "\(outcome.acknowledged.samples)"]
                .map { Table.Cell($0) },
            ["stored, as collectors count", "", "\(counts.stored)"].map { Table.Cell($0) },
            ["duplicates, as collectors count", "", "\(counts.duplicates)"].map { Table.Cell($0) },
        ]
        if counts.conflicts > 0 {
            table.rows.append([.init("conflicts"), .init(""), .init("\(counts.conflicts)", .red)])
        }
        if outcome.lost.batches > 0 {
            table.rows.append([
                .init("LOST", .red), .init("\(outcome.lost.batches)", .red), .init("\(outcome.lost.samples)", .red),
            ])
        }
        return table.lines(for: terminal)
    }

    private func lags(_ terminal: Terminal) -> [String] {
        var table = Table(
            [.init("milliseconds")] + ["p50", "p90", "p99", "longest"].map { .init($0, isRightAligned: true) })
        for (name, histogram) in [
            ("live, from due to acknowledged", outcome.liveLag),
            ("backlog, from sent to acknowledged", outcome.backlogLag), ("sent late by", outcome.lateness),
        ] where histogram.count > 0 {
            let values = [0.5, 0.9, 0.99].map { histogram.quantile($0) ?? 0 } + [histogram.max]
            table.rows.append([.init(name)] + values.map { .init(fixed(Double($0) / 1000, 1)) })
        }
        return table.lines(for: terminal)
    }

    private func memory(_ terminal: Terminal) -> [String] {
        var table = Table(
            [.init("memory, MB")]
                + ["first", "last", "largest", "a minute"].map { .init($0, isRightAligned: true) })
        for (name, series) in memories {
            guard let first = series.first, let last = series.last else {
                table.rows.append([.init(name), .init("not told")])
                continue
            }
            let sizes = [first, last, series.max].map { Table.Cell(fixed(Double($0) / 1_048_576, 1)) }
            let growth = series.growth.map { fixed($0 / 1_048_576, 2) } ?? "–"
            table.rows.append([.init(name.printable)] + sizes + [.init(growth)])
        }
        return table.lines(for: terminal)
    }

    /// What a reader of the figures has to know.
    var notes: [String] {
        var notes: [String] = []
        if outcome.wasInterrupted { notes.append("interrupted: the figures are of what was sent until then") }
        if outcome.disconnections > 0 { notes.append("\(outcome.disconnections) connections were lost meanwhile") }
        if outcome.collectors.restarts > 0 {
            notes.append("a collector began anew: what it stored just before its end is not in its counts")
        }
        if let late = outcome.lateness.quantile(0.99), late > 200_000 {
            notes.append("this machine was too busy to send in time: let less devices run on it")
        }
        return notes + outcome.refusals.sorted().prefix(5).map(\.printable)
    }

    private func verdict(_ terminal: Terminal) -> String {
        guard !isComplete else {
            return terminal.styled("complete: all \(outcome.acknowledged.samples) samples are stored", .green)
        }
        return terminal.styled(
            """
            incomplete: \(outcome.lost.samples) samples are not stored. 'lockstep doctor' says whether the collector \
            takes data in; where it is only slow, wait longer (--patience) or send less
            """, .red)
    }
}
