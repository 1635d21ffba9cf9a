import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepWire

/// The report of `lockstep simulate`, as text and as JSON.
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
        var table = Table(["DELIVERY", .right("BATCHES"), .right("SAMPLES")])
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
            table.rows.append(["conflicts (collector count)", "", .init("\(counts.conflicts)", .red)])
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
            ["MEMORY (MB)"]
                + ["FIRST", "LAST", "MAX", "GROWTH (MB/min)"].map { .init($0, isRightAligned: true) })
        for (name, series) in memorySeries {
            guard let first = series.first, let last = series.last else {
                table.rows.append([.init(name), "unknown"])
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

extension FleetReport {
    var json: String {
        let plan = outcome.plan
        let counts = outcome.collectors.counts
        var object = JSONObjectWriter()
        object.member("complete", isComplete)
        object.member("devices", Int64(plan.devices))
        object.member("connections", Int64(outcome.connections))
        object.member("streams", plan.streams) { $0.string($1.name) }
        object.member("rate_hz", plan.rate)
        object.member("window_s", Double(plan.window) / 1e6)
        object.member("seconds", Double(outcome.elapsed) / 1e6)
        object.member("began", plan.start.microseconds)
        object.member("delivered_s", Double(outcome.delivered) / 1e6)
        object.member("interrupted", outcome.wasInterrupted)
        object.member("sent", outcome.sent)
        object.member("sent_again", Int64(outcome.resent))
        object.member("confirmed", Int64(outcome.confirmed))
        object.member("acknowledged", outcome.acknowledged)
        object.member("lost", outcome.lost)
        object.member("disconnections", Int64(outcome.disconnections))
        object.member("collectors") { object in
            object.member("stored", Int64(counts.stored))
            object.member("duplicates", Int64(counts.duplicates))
            object.member("conflicts", Int64(counts.conflicts))
            object.member("rejected", Int64(counts.rejected))
            object.member("restarts", Int64(outcome.collectors.restarts))
        }
        object.member("lag_ms") { object in
            object.member("live", outcome.liveLag)
            object.member("backlog", outcome.backlogLag)
        }
        object.member("late_ms", outcome.lateness)
        object.member("memory") { object in
            for (name, series) in memorySeries { object.member(name, series) }
        }
        object.member("notes", notes) { $0.string($1) }
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }
}

extension JSONObjectWriter {
    fileprivate mutating func member(_ name: String, _ amount: FleetOutcome.Amount) {
        member(name) { object in
            object.member("batches", Int64(amount.batches))
            object.member("samples", Int64(amount.samples))
        }
    }

    fileprivate mutating func member(_ name: String, _ histogram: LagHistogram) {
        member(name) { object in
            object.member("count", Int64(histogram.count))
            guard histogram.count > 0 else { return }
            for (key, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
                object.member(key, Double(histogram.quantile(quantile) ?? 0) / 1000)
            }
            object.member("max", Double(histogram.max) / 1000)
        }
    }

    /// Writes a series in bytes. Without readings, the object has only an empty `series`.
    fileprivate mutating func member(_ name: String, _ series: MemorySeries) {
        member(name) { object in
            object.member("first", ifPresent: series.first.map(Int64.init))
            object.member("last", ifPresent: series.last.map(Int64.init))
            if !series.readings.isEmpty { object.member("max", Int64(series.max)) }
            if let growth = series.growth { object.member("growth_per_minute", growth.rounded()) }
            object.member("series", series.readings) { $0.raw("[\($1.at / 1_000_000),\($1.bytes)]") }
        }
    }
}
