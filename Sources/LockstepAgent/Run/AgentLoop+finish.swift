import LockstepMQTT
import LockstepModel
import LockstepSensors
import Logging

extension AgentLoop {
    /// The clean end: what waits is written and sent, `terminated` is said, all within five seconds.
    func finish() {
        let deadline = ContinuousClock.now + .seconds(5)
        var moment = Moment.now()
        // What sources handed over before the stop counts as taken.
        for case .samples(let block, let clock) in inbox.close() {
            take(block, clock: clock, at: moment)
        }
        for output in graph.restart() { coalescer.add(output.samples, at: moment.boot) }
        accept(coalescer.takeAll(), at: moment, isLast: true)
        if !unsaved.isEmpty {
            logger.error("\(unsaved.reduce(0) { $0 + $1.count }) samples are lost: the outbox can't be written")
        }
        // A collector that listens acknowledges within about a second.
        turn(until: .now + .milliseconds(1500)) { delivery.isEmpty }
        turn(until: deadline - .seconds(1)) { delivery.inFlightCount == 0 }
        if !delivery.isEmpty {
            logger.info("not yet acknowledged: kept in the outbox for the next start")
        }
        moment = Moment.now()
        let reason = sourceError == nil ? "stop" : "source-failed"
        announcement.say(.terminated, reason: reason, at: line.timestamp(boot: moment.boot), over: link)
        turn(until: deadline) { announcement.isConfirmed }
        // Acknowledgements of the last moment spare the next start some work.
        if !removed.isEmpty { _ = try? outbox.commit(appending: [], removing: removed, at: moment.wall) }
        link.stop(until: deadline)
        logger.info("ended")
    }

    private func turn(until deadline: ContinuousClock.Instant, while isDone: () -> Bool) {
        while link.isUp, !isDone(), ContinuousClock.now < deadline {
            publishBacklog(at: .now())
            for event in link.write() { handle(event) }
            link.wait(until: min(deadline, .now + .milliseconds(100)))
            for event in link.read() { handle(event) }
        }
    }
}
