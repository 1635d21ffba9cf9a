import LockstepCommandLine
import LockstepModel

/// Returns the reply of an agent as text, with a newline at the end.
/// - Parameter requested: the rate that was to be leased, in samples per second; nil for other requests.
func text(of reply: AgentReply, requested: Double? = nil) -> String {
    switch reply.outcome {
    case .leased(let stream, let rate, let until): text(ofLease: stream, rate, until, requested: requested) + "\n"
    case .phase(let phase): "the agent is in phase \(phase.rawValue)\n"
    case .flushed(let batches): "\(counted(batches, "batch", "batches")) written to the outbox and published\n"
    case .failed(let reason): "\(reason)\n"
    case .described(let description): text(of: description)
    }
}

/// Returns the result of a lease. It does not lower the rate that others have requested.
private func text(ofLease stream: SensorStream, _ rate: Double?, _ until: Timestamp?, requested: Double?) -> String {
    let published = rate?.isInfinite == true ? "the rate of its source" : text(ofRate: rate)
    guard rate != nil else { return "\(stream) is off" }
    guard let until else { return "\(stream) is published at \(published)" }
    guard let requested, let rate, rate > requested else {
        return "\(stream) is published at \(published), leased until \(until.shown)"
    }
    return
        "\(text(ofRate: requested)) is leased until \(until.shown), but \(stream) stays at \(published), because "
        + "the highest request wins"
}

private func text(of description: AgentDescription) -> String {
    var facts = Table([.init("PHASE"), .init("EPOCH"), .init("OUTBOX"), .init("DROPPED", isRightAligned: true)])
    facts.rows.append([
        .init(description.phase.rawValue, .bold), .init("\(description.epoch)"),
        .init(counted(description.outboxBatches, "batch", "batches") + ", \(description.outboxBytes) B"),
        .init("\(description.droppedSamples)", description.droppedSamples > 0 ? .red : .plain),
    ])
    var streams = Table([.init("STREAM"), .init("RATE"), .init("UNITS")])
    for item in description.streams {
        let units = item.stream.columns.filter { !$0.isTime }.map(\.unit).filter { !$0.isEmpty }
        streams.rows.append([
            .init(item.stream.name, .bold), .init(text(ofRate: item.rate), item.rate == nil ? .faint : .plain),
            .init(units.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }.joined(separator: ", ")),
        ])
    }
    var leases = Table([.init("LEASE OWNER"), .init("STREAM"), .init("RATE"), .init("UNTIL")])
    for lease in description.leases {
        leases.rows.append([
            .init(lease.client.isEmpty ? "-" : lease.client.printable), .init(lease.stream.name),
            .init(text(ofRate: lease.rate)), .init(lease.until.shown),
        ])
    }
    var sources = Table([.init("SOURCE"), .init("STATUS")])
    for (name, status) in description.sources.sorted(by: { $0.key < $1.key }) {
        sources.rows.append([.init(name.printable, .bold), .init(status.printable)])
    }
    return [facts, streams, leases, sources].filter { !$0.rows.isEmpty }
        .map { $0.lines(for: .output).joined(separator: "\n") + "\n" }.joined(separator: "\n")
}

private func text(ofRate rate: Double?) -> String {
    guard let rate else { return "off" }
    if rate.isInfinite { return "source" }
    return (Int64(exactly: rate).map(String.init) ?? number(rate)) + " Hz"
}
