import LockstepAgent
import LockstepModel
import LockstepWire

extension FleetReport {
    /// The report as one JSON object.
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
