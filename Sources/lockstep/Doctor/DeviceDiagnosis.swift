import LockstepCommandLine
import LockstepModel
import LockstepWire

/// The findings about one device.
struct DeviceDiagnosis {
    /// The number of unacknowledged batches above which the collector is too slow. Collectors acknowledge about once
    /// per second.
    private static let maxUnacknowledged: Int64 = 100
    /// The difference between two clocks above which it is reported, in µs.
    private static let maxClockError: Int64 = 1_000_000
    /// The beginning of the problem of an agent whose connection another one takes over.
    private static let twinProblem = "another agent uses"
    /// The latency of samples above which it is reported, in µs: a window of one second and a margin.
    private static let maxLatency: Int64 = 10_000_000

    let address: DeviceAddress
    let device: Observations.Device
    /// The duration of the observation, in s.
    let seconds: Double
    let now: Timestamp
    /// The command that shows rejected messages.
    let rejectedQuery: String
    /// Why messages that the broker keeps may not have been received.
    var doubts: [Doubt] = []

    var findings: [Finding] {
        let found =
            [state, twins, problem, clockOrCollectorClock, gaps, backlog, dropped].compactMap(\.self)
            + sources + CertificateDiagnosis(now: now).findings("", isGone ? [:] : device.presence?.certificates ?? [:])
        if !found.isEmpty { return found }
        let state =
            device.state.map { "\($0.to.rawValue) for \($0.since.age(at: now))" }
            ?? (device.isAcknowledged ? "stored by a collector, state unknown" : "known")
        return [Finding(.ok, "", latency.map { "\(state), latency \($0 / 1000) ms" } ?? state)]
    }

    /// The median of the time from a sample to its arrival, in µs.
    private var latency: Int64? {
        device.latencies.isEmpty ? nil : device.latencies.sorted()[device.latencies.count / 2]
    }

    private var state: Finding? {
        guard let state = device.state else { return missingState }
        let since = state.since.age(at: now)
        switch state.to {
        case .background where state.reason == "silent" || state.reason == "connection-lost":
            return Finding(
                .warning, "", "no messages for \(since) (\(state.reason.printable))",
                device.publisher.advice + ". If it is gone for good: lockstep forget \(address)")
        case .active where hasNoSamples && seconds >= 5 && device.publisher == .agent:
            // Other publishers send when there is something new: a phone at rest is silent for hours.
            return Finding(
                .warning, "", "active for \(since), but no samples in \(Int(seconds)) s",
                "check its sensors: lockstep command \(address) --describe. If it sends less often, use a longer --seconds"
            )
        default: return nil
        }
    }

    private var hasNoSamples: Bool { device.latencies.isEmpty && !device.hasUndeclaredStreams }

    /// The finding about a device without a state.
    private var missingState: Finding? {
        // A collector publishes a state only when it changes, so it may be running although none was received.
        if device.isAcknowledged, !doubts.isEmpty { return nil }
        guard doubts.isEmpty else {
            if hasNoSamples, device.presence != nil { return nil }
            return .unknown(
                "",
                hasNoSamples
                    ? "neither its state nor samples were received"
                    : "publishes samples; whether a collector stores them is unknown, because no state was received",
                doubts)
        }
        return hasNoSamples
            ? nil
            : Finding(
                .warning, "", "publishes samples, but no collector publishes its state",
                "check that a collector is running for its group")
    }

    private var twins: Finding? {
        guard device.liveEpochs.alternate else { return nil }
        return Finding(
            .warning, "", "two outboxes are used in turn: more than one agent uses this name",
            "stop all but one, and give each agent its own --device")
    }

    private var problem: Finding? {
        let refusal = device.refused?.refusal.map { Presence.refusalProblem + $0.reason }
        func isRefusal(_ problem: String) -> Bool { problem.hasPrefix(Presence.refusalProblem) }
        func isOutbox(_ problem: String) -> Bool { problem.hasPrefix(Presence.outboxProblem) }
        let reported = device.problem.flatMap { twins == nil || !$0.hasPrefix(Self.twinProblem) ? $0 : nil }
        guard let problem = reported ?? refusal else { return nil }
        if isOutbox(problem) {
            return Finding(
                .failure, "", problem.printable,
                "new samples wait in the agent's memory: it continues without a restart when it can use its outbox again, "
                    + "and loses them if it is stopped before")
        }
        return Finding(
            .warning, "", problem.printable,
            isRefusal(problem)
                ? "the batches stay in its outbox and are sent again; show them all: \(rejectedQuery)"
                : problem.hasPrefix(Self.twinProblem)
                    ? "stop all but one, and give each agent its own --device"
                    : "read the log of its agent on the device: journalctl -u lockstep-agent")
    }

    private var clock: Finding? {
        let newest = latency.map { now - $0 }
        if let implausible = Self.implausibleTime(newest: newest, since: device.state?.since, now: now) {
            return implausible
        }
        guard let latency else { return nil }
        if latency < -Self.maxClockError {
            return Finding(
                .failure, "", "its clock is \(seconds(-latency)) s ahead of the clock of this machine",
                "synchronise both clocks with NTP: chronyc tracking, or timedatectl")
        }
        if latency > Self.maxLatency {
            return Finding(
                .warning, "", "samples arrive with a latency of \(seconds(latency)) s",
                "check its clock (timedatectl), its window (--window) and the network")
        }
        return nil
    }

    /// One finding about the clock: the worse or the more exact one.
    private var clockOrCollectorClock: Finding? {
        guard let collectorClock, clock?.level != .failure else { return clock }
        return collectorClock
    }

    /// A device whose clock differs from that of a collector by more than a minute, as its agent has measured.
    private var collectorClock: Finding? {
        guard !isGone, let point = device.clock?.points.last(where: { abs($0.offset) > Diagnosis.maxClockDifference })
        else { return nil }
        return Finding(
            .warning, "",
            "its clock is \(seconds(abs(point.offset))) s \(point.offset > 0 ? "ahead of" : "behind") the clock of the "
                + "collector '\(point.collector)'",
            "synchronise both clocks with NTP: chronyc tracking, or timedatectl")
    }

    /// Whether its last presence says that its agent has stopped or lost its connection.
    private var isGone: Bool { [.terminated, .lost].contains(device.presence?.phase) }

    private var gaps: Finding? {
        guard let ack = device.ack, !ack.missing.isEmpty else { return nil }
        let gaps = SequenceSet(ack.missing)
        let missing = missing(of: gaps, ack)
        guard let first = missing.first, let last = missing.last else {
            return Finding(.ok, "", counted(gaps.count, "batch", "batches") + " on the way: the device still has them")
        }
        if first == 1, missing.isContiguous {
            return Finding(
                .ok, "",
                "the store has no batches up to \(last), and the device no longer has them: 'lockstep verify' shows whether "
                    + "they are from before this store or missing")
        }
        return Finding(
            .warning, "",
            missing.count == 1
                ? "batch \(first) is not in the store, and the device no longer has it"
                : "\(missing.count) batches are not in the store, and the device no longer has them; the first is batch "
                    + "\(first)",
            "another collector with the same --id may have written them to another store, or the store was restored from "
                + "an older copy; see 'Missing batches' in docs/operations.md")
    }

    /// Returns those batches of `gaps` that the device no longer has. A device that reports nothing may have nothing.
    private func missing(of gaps: SequenceSet, _ ack: Acknowledgement) -> SequenceSet {
        guard let presence = device.presence, let epoch = presence.epoch else { return gaps }
        guard epoch == ack.epoch else { return gaps.subtracting(presence.pending[ack.epoch] ?? SequenceSet()) }
        return OutboxReport(presence)?.gone(known: ack.stored).intersection(gaps) ?? SequenceSet()
    }

    private var backlog: Finding? {
        guard let ack = device.ack, let highest = device.highest[ack.epoch],
            highest - ack.highest > Self.maxUnacknowledged
        else { return nil }
        return Finding(
            .warning, "", "the collector has stored batches up to \(ack.highest) of \(highest)",
            "check that the collector is running and fast enough")
    }

    private var dropped: Finding? {
        guard let presence = device.presence, presence.droppedSamples > 0 else { return nil }
        return Finding(
            .failure, "", "outbox limit reached, " + counted(presence.droppedSamples, "sample") + " dropped",
            "the samples are lost; raise the limits (--outbox-size, --outbox-age), and check the collector")
    }

    private var sources: [Finding] {
        (device.presence?.sources ?? [:]).filter { $0.value != "running" && $0.value != "ended" }
            .sorted { $0.key < $1.key }.map { name, status in
                Finding(
                    .warning, "", "\(name.printable): \(status.printable)",
                    name.hasPrefix("gpsd")
                        ? "check on the device that gpsd runs and has a receiver: systemctl status gpsd, and gpspipe -w -n 10"
                        : "list the sensors on the device: lockstep-agent sensors")
            }
    }

    private func seconds(_ microseconds: Int64) -> String { fixed(Double(microseconds) / 1e6, 1) }
}

extension Observations.Device {
    /// The kind of program that publishes the messages of a device.
    enum Publisher {
        case agent
        /// A gateway, on behalf of a phone or another foreign device.
        case gateway
        /// Any other MQTT client.
        case client

        /// What to check if nothing is received any more.
        var advice: String {
            switch self {
            case .agent: "check its power and network; its agent keeps recorded samples"
            case .gateway: "check its power and network, and the app that sends to the gateway"
            case .client: "check the program that publishes it"
            }
        }
    }

    /// The publisher. Only agents and gateways report sources. A gateway reports the name of the foreign sender, such as
    /// `owntracks/alice/phone`, and an agent `iio` or `gpsd://localhost`.
    var publisher: Publisher {
        guard let sources = presence?.sources, !sources.isEmpty else { return .client }
        let isForeign = sources.keys.contains { name in
            name.firstIndex(of: "/").map { !name[..<$0].contains(":") } ?? false
        }
        return isForeign ? .gateway : .agent
    }
}

extension DeviceDiagnosis {
    /// The age of live samples above which their times are probably wrong, in µs: a year.
    private static let maxAge: Int64 = 365 * 86_400_000_000
    /// The earliest plausible time: 2000-01-01.
    private static let earliest = Timestamp(microseconds: 946_684_800_000_000)

    /// Returns a warning if the times of a device are years off, for example because they are in seconds.
    /// - Parameters:
    ///   - newest: the time of a live sample that has arrived now, or nil if none has.
    ///   - since: the time of the last change of its state, which is the time of a sample.
    static func implausibleTime(newest: Timestamp?, since: Timestamp?, now: Timestamp) -> Finding? {
        let time: Timestamp
        if let newest, now - newest > maxAge {
            time = newest
        } else if let since, since < earliest {
            time = since
        } else {
            return nil
        }
        return Finding(
            .warning, "", "its live samples have times of \(time.shown)",
            "send times in µs since 1970, not in s or ms; if it does, set its clock")
    }
}
