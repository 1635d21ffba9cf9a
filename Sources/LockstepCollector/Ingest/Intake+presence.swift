import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire

extension Intake {
    /// Adds a presence message to the group.
    /// - Throws: the reason for a rejection.
    mutating func ingestPresence(
        _ message: IncomingMessage, route: Int, _ registry: inout LifecycleRegistry, at moment: Moment
    ) throws {
        guard !message.payload.isEmpty, let device = topics[route].address else { return }
        try checkSize(of: message)
        if let known = index(of: device) { try usePresence(of: known, at: moment) }
        let presence = try PresenceJSON.decode(message.payload)
        if let session = presence.session, session - moment.wall.microseconds > maximumFuture {
            throw PayloadError(
                "the session \(Timestamp(microseconds: session)) is in the future: check the clocks of the device and of the "
                    + "collector")
        }
        let isReturn = !registry.isForgotten(device) || registry.showsReturn(presence, of: device)
        guard !isReturn || admitDevice(of: route, registry) else { throw tooManyDevices(position: nil) }
        if let known = index(of: device) {
            let changesState = registry.changesState(.presence(presence), of: device, at: moment)
            try use(presence, of: known, changesState: changesState, at: moment)
        }
        if let epoch = presence.epoch, !presence.dropped.isEmpty {
            group.dropped.append(
                DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet(presence.dropped)))
        }
        guard isReturn else { return forgetting.addEnd(of: device) }
        // A retained presence may be older than batches that were received before.
        if let report = OutboxReport(presence), !message.isRetained {
            group.reports[DeviceEpoch(device: device, epoch: report.epoch)] = report
        }
        if let number = topics[route].device { reportNewest(of: number, &registry, at: moment) }
        if let clock = presence.clock { ingest(clock, of: device, epoch: presence.epoch, at: moment) }
        // A last will comes from the broker, so it does not show that the device is alive.
        if presence.phase != .lost {
            group.seen[device] = moment.wall
            droppedSamples[device] = presence.droppedSamples > 0 ? presence.droppedSamples : nil
        }
        registry.handle(.presence(presence), of: device, at: moment, into: &group)
    }

    /// Adds the estimates of a device's clock against this collector's.
    private mutating func ingest(_ report: ClockReport, of device: DeviceAddress, epoch: Epoch?, at moment: Moment) {
        guard let epoch, let index = index(of: device) else { return }
        if let point = report.points.last(where: { $0.collector == collector ?? $0.collector }) {
            clockDifferences.observe(point.offset, of: device, at: moment.boot)
        }
        // The estimates of different collectors are independent, and one collector stores only its own.
        for point in report.points.sorted(by: { $0.time < $1.time })
        where point.collector == collector ?? point.collector {
            guard point.time - moment.wall <= maximumFuture,
                collector == nil
                    || devices[index].usage.useEstimate(point.time, of: epoch, deviceLimits, at: moment.boot)
            else { continue }
            group.clocks.append(DeviceClock(device: device, epoch: epoch, point: point))
        }
    }
}
