import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepSensors
import LockstepWire
import Logging

extension AgentLoop {
    /// Requests answered in one turn: the others wait, so that sensors and batches come in between.
    private static let mostRequests = 20

    /// Asks the sensors for what phase and leases want, where it has changed, and tells the sources.
    func askSensors(at moment: Moment) {
        let requests = configuration.rates.requests(
            in: announcement.phase, leased: leases.rates, streams: graph.streams)
        for output in graph.ask(publisher, for: requests) { coalescer.add(output.samples, at: moment.boot) }
        let rates = graph.sourceRates
        guard rates != toldRates else { return }
        toldRates = rates
        for source in configuration.sources {
            source.setRates(rates.filter { source.streams.contains($0.key) })
        }
    }

    /// Does what was asked, and answers.
    func answerRequests(at moment: Moment) {
        let due = requests.prefix(Self.mostRequests)
        requests.removeFirst(due.count)
        for payload in due { answer(payload, at: moment) }
    }

    private func answer(_ payload: Data, at moment: Moment) {
        let reply: AgentReply
        do {
            let request = try RequestJSON.decode(payload, streams: configuration.root.streams)
            reply = AgentReply(id: request.id, outcome: perform(request, at: moment))
        } catch {
            reply = AgentReply(id: RequestJSON.id(of: payload), outcome: .failed("\(error)"))
        }
        if case .failed(let reason) = reply.outcome, problems.isNew("request") {
            logger.warning("a request was refused: \(reason)")
        }
        do {
            _ = try link.publish(
                MQTTMessage(
                    topic: configuration.root.topic(configuration.address, .commandReply),
                    payload: ReplyJSON.encode(reply)))
        } catch {
            logger.error("a reply can't be published: \(error)")
        }
    }

    private func perform(_ request: AgentRequest, at moment: Moment) -> AgentReply.Outcome {
        switch request.action {
        case .lease(let lease): return grant(lease, to: request.client ?? "", at: moment)
        case .phase(let phase):
            setPhase(phase, reason: "command", at: moment)
            return .phase(phase)
        case .flush:
            let blocks = coalescer.takeAll()
            accept(blocks, at: moment, isLast: true)
            return unsaved.isEmpty
                ? .flushed(batches: blocks.count) : .failed("the outbox can't be written: see the agent's log")
        case .describe: return .described(description)
        }
    }

    private func grant(_ lease: RateLease, to client: String, at moment: Moment) -> AgentReply.Outcome {
        guard graph.streams.contains(lease.stream) else {
            let streams = graph.streams.map(\.name).joined(separator: ", ")
            return .failed("this agent has no \(lease.stream): it has \(streams)")
        }
        guard leases.take(lease, of: client, at: moment.boot) else {
            return .failed("there are \(LeaseBook.most) leases already: end some, or wait")
        }
        askSensors(at: moment)
        let end = lease.rate > 0 ? line.timestamp(boot: moment.boot + Int64(lease.duration * 1e6)) : nil
        return .leased(stream: lease.stream, rate: publishedRate(of: lease.stream), until: end)
    }

    /// Samples a second; nil where the stream is not published.
    private func publishedRate(of stream: SensorStream) -> Double? {
        configuration.rates.requests(in: announcement.phase, leased: leases.rates, streams: [stream])[stream]
            .map { graph.rate(of: $0, for: stream) }
    }

    private var description: AgentDescription {
        AgentDescription(
            epoch: outbox.epoch, phase: announcement.phase,
            streams: graph.streams.map { .init(stream: $0, rate: publishedRate(of: $0)) },
            leases: leases.described { line.timestamp(boot: $0) }, sources: announcement.sources,
            outboxBatches: Int((try? outbox.pending())?.values.reduce(0) { $0 + $1.count } ?? 0),
            outboxBytes: outbox.bytes,
            droppedSamples: outbox.droppedSamples + announcement.unsavedDropped)
    }
}
