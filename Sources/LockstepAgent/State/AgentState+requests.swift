import FoundationEssentials
import LockstepModel
import LockstepSensors
import LockstepWire
import Logging

/// Requests on the `command` topic.
extension AgentState {
    /// Queues a request. It is answered in the next `requests` stage, outside the message callback.
    mutating func enqueueRequest(_ payload: Data, isRetained: Bool) -> [Action] {
        // A retained request would be carried out again on every connection.
        if !isRetained { requests.append(payload) }
        return []
    }

    mutating func answerRequests() -> [Action] {
        remainingAnswers = Self.maxAnswers
        return requests.isEmpty ? [] : [.resume(.stage(.nextRequest))]
    }

    /// Answers one request, and continues with the next one after the actions for this one.
    mutating func answerNextRequest(at moment: Moment) -> [Action] {
        guard remainingAnswers > 0, !requests.isEmpty else { return [] }
        remainingAnswers -= 1
        return answer(requests.removeFirst(), at: moment) + [.resume(.stage(.nextRequest))]
    }

    private mutating func answer(_ payload: Data, at moment: Moment) -> [Action] {
        do {
            let request = try RequestJSON.decode(payload, streams: configuration.root.streams)
            if let earlier = answered.outcome(of: request) { return reply(earlier, to: request.id) }
            return perform(request, at: moment)
        } catch {
            return reply(.failed("\(error)"), to: RequestJSON.id(of: payload), failure: "request rejected")
        }
    }

    /// - Parameter failure: the event to log if the outcome is a failure.
    private mutating func reply(
        _ outcome: AgentReply.Outcome, to id: String?, failure: Logger.Message = "request refused"
    ) -> [Action] {
        let reply = Action.reply(AgentReply(id: id, outcome: outcome))
        guard case .failed(let reason) = outcome, problems.isNew("request") else { return [reply] }
        return [.log(.warning, failure, ["error": "\(reason)"]), reply]
    }

    /// Replies to a request that was performed or refused, and remembers the outcome.
    private mutating func reply(_ outcome: AgentReply.Outcome, to request: AgentRequest) -> [Action] {
        answered.insert(request, outcome)
        return reply(outcome, to: request.id)
    }

    private mutating func perform(_ request: AgentRequest, at moment: Moment) -> [Action] {
        switch request.action {
        case .lease(let lease): return grant(lease, request, at: moment)
        case .phase(let phase):
            let actions = setPhase(phase, reason: "command", at: moment)
            return actions + reply(.phase(phase), to: request)
        case .flush:
            let blocks = coalescer.takeAll()
            return write(blocks, at: moment, isForced: true)
                + [.resume(.flushed(request, batches: blocks.count))]
        case .describe: return [.describe(id: request.id, description)]
        case .calibrate(nil): return [.storeCalibration(nil, request)]
        case .calibrate(let calibration?):
            guard let motionSensors else {
                return reply(.failed("this agent has no accelerometer, or several of them"), to: request)
            }
            return [.storeCalibration(SensorCalibration(calibration: calibration, sensors: motionSensors), request)]
        }
    }

    /// Applies a calibration after it was stored, or none after it was removed.
    mutating func didStore(
        _ calibration: SensorCalibration?, _ request: AgentRequest, _ error: OutboxError?, at moment: Moment
    ) -> [Action] {
        if let error { return reply(.failed("the outbox cannot be written: \(error)"), to: request) }
        // What was derived so far depends on the earlier calibration, such as the offset that the attitude has learnt.
        if presence.calibration != calibration?.calibration { finishGraph(at: moment.boot) }
        presence.calibration = calibration?.calibration
        let event: Logger.Message = calibration == nil ? "calibration removed" : "calibration stored"
        return [.log(.info, event, ["sensors": "\(motionSensors ?? "none")"])]
            + reply(.calibrated(calibration?.calibration), to: request)
    }

    /// Returns the names of the sensors that provide accelerometer and gyroscope: of their source, and of the hardware where the
    /// source has several, with its mount matrix, because a calibration is for the axes of the device. A sensor that cannot be
    /// read yet has the same name. See ``motionSensors``.
    static func motionSensors(of sources: [any SensorSource]) -> String? {
        let names = [SensorStream.accelerometer, .gyroscope].map { stream in
            sources.filter { $0.streams.contains(stream) }.map { source in
                let sensors = source.sensors().filter { $0.stream == stream }
                let sensor = sensors.first { $0.problem == nil } ?? sensors.first
                let mount = sensor?.mountMatrix.map { rows in
                    "mounted " + rows.map { $0.map(\.description).joined(separator: " ") }.joined(separator: "; ")
                }
                let hardware = [sensor?.name, sensor?.label, sensor?.location, mount].compactMap { $0 }
                return "\(stream.table): "
                    + ([source.name] + hardware.filter { $0 != source.name }).joined(separator: " ")
            }
        }
        guard names[0].count == 1, names[1].count <= 1 else { return nil }
        return names.joined().joined(separator: ", ")
    }

    /// Replies to a flush after its batches were passed to the outbox.
    mutating func replyToFlush(_ request: AgentRequest, batches: Int) -> [Action] {
        guard unsaved.isEmpty else {
            return reply(.failed("the outbox cannot be written: see the log of the agent"), to: request)
        }
        return reply(.flushed(batches: batches), to: request)
    }

    private mutating func grant(_ lease: RateLease, _ request: AgentRequest, at moment: Moment) -> [Action] {
        guard graph.streams.contains(lease.stream) else {
            let streams = graph.streams.map(\.name).joined(separator: ", ")
            return reply(
                .failed("this agent does not provide the stream '\(lease.stream)'; available streams: \(streams)"),
                to: request)
        }
        guard leases.add(lease, of: request.client ?? "", at: moment.boot) else {
            return reply(
                .failed("the maximum of \(LeaseRegistry.maxLeases) leases is reached: end some, or wait"),
                to: request)
        }
        let actions = updateRates(at: moment)
        let end = lease.rate > 0 ? timeLine.timestamp(boot: moment.boot + Int64(lease.duration * 1e6)) : nil
        return actions
            + reply(.leased(stream: lease.stream, rate: publishedRate(of: lease.stream), until: end), to: request)
    }

    /// The description of the agent without the state of the outbox, which the loop adds.
    private var description: AgentDescription {
        AgentDescription(
            epoch: Epoch(unchecked: ""), phase: presence.phase,
            streams: graph.streams.map { .init(stream: $0, rate: publishedRate(of: $0)) },
            leases: leases.described { timeLine.timestamp(boot: $0) }, sources: presence.sources,
            calibration: presence.calibration, outboxBatches: 0, outboxBytes: 0, droppedSamples: presence.unsavedDropped
        )
    }
}

/// The newest requests that have an id, with the outcomes of their replies.
///
/// A request can arrive more than once: its requester publishes it again after a reconnect, and the broker delivers a
/// message with QoS 1 again if its PUBACK was lost. The agent repeats the reply instead of performing the request again.
struct AnsweredRequests {
    /// The maximum number of remembered requests. Beyond it, the oldest one is forgotten.
    static let capacity = 1000

    /// An id is unique among the requests of one client.
    private struct Key: Hashable {
        let client: String
        let id: String
    }

    private var entries: [Key: (action: AgentRequest.Action, outcome: AgentReply.Outcome)] = [:]
    /// The keys of `entries`. After the capacity is reached, the oldest key is at `oldest`.
    private var order: [Key] = []
    private var oldest = 0

    /// Returns the outcome with which to answer `request` without performing it, or nil if it is new.
    ///
    /// If the client has used the id for another action, the outcome is a failure.
    func outcome(of request: AgentRequest) -> AgentReply.Outcome? {
        guard let key = Self.key(of: request), let known = entries[key] else { return nil }
        guard known.action == request.action else {
            return .failed("the id '\(key.id)' was used for another request: choose a new id for each request")
        }
        return known.outcome
    }

    /// Remembers the outcome of a new request that was performed or refused.
    mutating func insert(_ request: AgentRequest, _ outcome: AgentReply.Outcome) {
        guard let key = Self.key(of: request), entries[key] == nil else { return }
        entries[key] = (request.action, outcome)
        guard order.count == Self.capacity else { return order.append(key) }
        entries[order[oldest]] = nil
        order[oldest] = key
        oldest = (oldest + 1) % Self.capacity
    }

    /// Returns nil for a request that may be performed again: it has no id, or it changes nothing.
    private static func key(of request: AgentRequest) -> Key? {
        guard request.action != .describe else { return nil }
        return request.id.map { Key(client: request.client ?? "", id: $0) }
    }
}
