import LockstepAgent
import LockstepCommandLine
import LockstepModel

/// The report of `lockstep simulate`, as text. The JSON is in `FleetReport+json.swift`.
struct FleetReport {
    let outcome: FleetOutcome

    /// Whether collectors acknowledged all batches.
    var isComplete: Bool { outcome.lost.batches == 0 }

    /// The memory of each process, with its name.
    var memorySeries: [(name: String, series: MemorySeries)] {
        outcome.collectors.collectors.sorted { $0.key < $1.key }.map { ("collector \($0.key)", $0.value.memory) }
            + [("broker", outcome.brokerMemory), ("simulator", outcome.ownMemory)]
    }

    func text(for terminal: Terminal) -> String {
        let plan = outcome.plan
        let counts = outcome.collectors.counts
        let streams = plan.streams.map(\.name).joined(separator: ", ")
        var lines = [
            terminal.styled(
                counted(plan.devices, "device") + ", " + counted(outcome.connections, "connection")
                    + ", \(fixed(seconds, 0)) s", .bold),
            "\(streams) at \(fixed(plan.rate, 1)) Hz, window \(fixed(Double(plan.window) / 1e6, 2)) s", "",
        ]
        lines += amounts(terminal, counts) + [""] + lags(terminal) + [""] + memory(terminal) + [""]
        lines += notes.map { terminal.styled($0, .yellow) }
        lines.append(verdict(terminal))
        return lines.joined(separator: "\n") + "\n"
    }

    private var seconds: Double { Double(outcome.elapsed) / 1e6 }

    private func amounts(_ terminal: Terminal, _ counts: CollectorWatch.Counts) -> [String] {
        var table = Table([
            .init("DELIVERY"), .init("BATCHES", isRightAligned: true), .init("SAMPLES", isRightAligned: true),
        ])
        table.rows = [
            ["sent", "\(outcome.sent.batches)", "\(outcome.sent.samples)"].map { Table.Cell($0) },
            ["retransmitted", "\(outcome.resent)"].map { Table.Cell($0) },
            ["acknowledged by the broker", "\(outcome.confirmed)"].map { Table.Cell($0) },
            ["acknowledged by a collector", "\(outcome.acknowledged.batches)", "\(outcome.acknowledged.samples)"]
                .map { Table.Cell($0) },
            ["stored (collector count)", "", "\(counts.stored)"].map { Table.Cell($0) },
            ["duplicates (collector count)", "", "\(counts.duplicates)"].map { Table.Cell($0) },
        ]
        if counts.conflicts > 0 {
            table.rows.append([.init("conflicts (collector count)"), .init(""), .init("\(counts.conflicts)", .red)])
        }
        if outcome.lost.batches > 0 {
            table.rows.append([
                .init("lost", .red), .init("\(outcome.lost.batches)", .red), .init("\(outcome.lost.samples)", .red),
            ])
        }
        return table.lines(for: terminal)
    }

    private func lags(_ terminal: Terminal) -> [String] {
        var table = Table(
            [.init("LATENCY (ms)")] + ["P50", "P90", "P99", "MAX"].map { .init($0, isRightAligned: true) })
        for (name, histogram) in [
            ("live: completed to acknowledged", outcome.liveLag),
            ("backlog: sent to acknowledged", outcome.backlogLag), ("send delay", outcome.lateness),
        ] where histogram.count > 0 {
            let values = [0.5, 0.9, 0.99].map { histogram.quantile($0) ?? 0 } + [histogram.max]
            table.rows.append([.init(name)] + values.map { .init(fixed(Double($0) / 1000, 1)) })
        }
        return table.lines(for: terminal)
    }

    private func memory(_ terminal: Terminal) -> [String] {
        var table = Table(
            [.init("MEMORY (MB)")]
                + ["FIRST", "LAST", "MAX", "GROWTH (MB/min)"].map { .init($0, isRightAligned: true) })
        for (name, series) in memorySeries {
            guard let first = series.first, let last = series.last else {
                table.rows.append([.init(name), .init("unknown")])
                continue
            }
            let sizes = [first, last, series.max].map { Table.Cell(fixed(Double($0) / 1_048_576, 1)) }
            let growth = series.growth.map { fixed($0 / 1_048_576, 2) } ?? "–"
            table.rows.append([.init(name.printable)] + sizes + [.init(growth)])
        }
        return table.lines(for: terminal)
    }

    /// The limitations of the results.
    var notes: [String] {
        var notes: [String] = []
        if outcome.wasInterrupted {
            notes.append("interrupted: the results cover the live data until then, and the backlog that was sent")
        }
        if outcome.disconnections > 0 { notes.append("connections lost: \(outcome.disconnections)") }
        if outcome.collectors.restarts > 0 {
            notes.append(
                "a collector restarted: samples stored between its last report and the restart are not counted"
            )
        }
        if let late = outcome.lateness.quantile(0.99), late > 200_000 {
            notes.append("this machine was too slow to send on time: simulate fewer devices")
        }
        return notes + outcome.refusals.sorted().prefix(5).map(\.printable)
    }

    private func verdict(_ terminal: Terminal) -> String {
        guard !isComplete else {
            return terminal.styled("complete: \(counted(outcome.acknowledged.samples, "sample")) stored", .green)
        }
        return terminal.styled(
            """
            incomplete: \(counted(outcome.lost.samples, "sample")) not stored. Check the collector with \
            'lockstep doctor'; if it is only slow, increase --patience or send less data
            """, .red)
    }
}
