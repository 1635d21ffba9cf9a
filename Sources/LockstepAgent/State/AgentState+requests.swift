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

    /// Replies to a request.
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
        }
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
            leases: leases.described { timeLine.timestamp(boot: $0) }, sources: presence.sources, outboxBatches: 0,
            outboxBytes: 0, droppedSamples: presence.unsavedDropped)
    }
}
