public import LockstepModel

/// Received data that a collector writes to the store in one transaction, before it acknowledges any of it.
public struct IngestGroup: Sendable {
    /// The received samples. Runs of the same device and stream are in order of receipt.
    public var runs: [SampleRun]
    /// The rejected messages.
    public var rejected: [RejectedMessage]
    /// The life-cycle transitions.
    public var transitions: [DeviceTransition]
    /// The new life-cycle snapshot of each device whose snapshot changed in more than its
    /// ``/LockstepModel/LifecycleSnapshot/evidenceTime``.
    public var lifecycles: [DeviceAddress: LifecycleSnapshot]
    /// The batches that agents report as dropped.
    public var dropped: [DroppedBatches]
    /// What devices report about their outboxes: the last report about each epoch.
    public var reports: [DeviceEpoch: OutboxReport] = [:]
    /// The estimates of devices' clocks. An estimate that is already stored is ignored.
    public var clocks: [DeviceClock] = []
    /// The new times of evidence for states that did not change, in order of receipt. The snapshot of a device in
    /// `lifecycles` is newer than its evidence here. A store may write them later.
    public var evidence: [DeviceEvidence] = []
    /// The time of the last message from each device, not counting batches, on the collector's clock.
    public var seen: [DeviceAddress: Timestamp]

    /// A time to advance rules to, or nil.
    public var tick: Tick?
    /// The results of attempts to deliver notifications.
    public var deliveries: [DeliveryUpdate] = []
    /// The acknowledgements of events by people.
    public var acknowledgements: [EventAcknowledgement] = []
    /// The recorded sessions that have changed, without their markers.
    public var sessions: [RecordingSession] = []
    /// The new markers of sessions.
    public var markers: [(session: RecordingSession.Key, marker: RecordingSession.Marker)] = []
    /// The ids of markers that have left a session for another one. It takes effect before ``markers``.
    public var splits: [(session: RecordingSession.Key, markers: [String])] = []
    /// What people have asked to delete. It takes effect before the samples of the group.
    public var deletions: [Deletion] = []

    /// A time to which an observer advances.
    public struct Tick: Sendable, Hashable {
        /// The current time.
        public var moment: Moment
        /// The start of the connection to the broker, in µs of the boot clock.
        public var listeningSince: Int64

        /// Creates a tick.
        public init(at moment: Moment, listeningSince: Int64) {
            self.moment = moment
            self.listeningSince = listeningSince
        }
    }

    /// Creates a group from individual batches and other data.
    public init(
        batches: [ReceivedBatch] = [], rejected: [RejectedMessage] = [], transitions: [DeviceTransition] = [],
        lifecycles: [DeviceAddress: LifecycleSnapshot] = [:], dropped: [DroppedBatches] = [],
        seen: [DeviceAddress: Timestamp] = [:]
    ) {
        runs = []
        self.rejected = rejected
        self.transitions = transitions
        self.lifecycles = lifecycles
        self.dropped = dropped
        self.seen = seen
        for batch in batches { append(batch) }
    }

    /// Whether the group is empty.
    public var isEmpty: Bool {
        runs.isEmpty && rejected.isEmpty && transitions.isEmpty && lifecycles.isEmpty && dropped.isEmpty
            && seen.isEmpty && reports.isEmpty && evidence.isEmpty && clocks.isEmpty && tick == nil
            && deliveries.isEmpty
            && acknowledgements.isEmpty && deletions.isEmpty && sessions.isEmpty && markers.isEmpty && splits.isEmpty
    }

    /// Whether writing the group can be deferred, because it contains only heartbeats: no acknowledgement depends on
    /// them, and the next heartbeat repeats their content.
    public var isDeferrable: Bool {
        runs.isEmpty && rejected.isEmpty && transitions.isEmpty && dropped.isEmpty && lifecycles.isEmpty
            && tick == nil && deliveries.isEmpty
            && acknowledgements.isEmpty && deletions.isEmpty && sessions.isEmpty && markers.isEmpty && splits.isEmpty
    }

    /// Appends a batch: to the last run if device and stream match, otherwise as a new run.
    public mutating func append(_ received: ReceivedBatch) {
        let stream = received.batch.samples.stream
        if let last = runs.last, last.device == received.device, last.samples.stream == stream {
            runs[runs.count - 1].append(received.batch, at: received.receivedAt)
        } else {
            var run = SampleRun(device: received.device, stream: stream)
            run.append(received.batch, at: received.receivedAt)
            runs.append(run)
        }
    }

    /// The individual batches of all runs.
    package var batches: [ReceivedBatch] { runs.flatMap(\.received) }
}

/// An estimate of a device's clock.
public struct DeviceClock: Sendable, Hashable {
    /// The device.
    public var device: DeviceAddress
    /// The epoch of the device's outbox. It changes when the device's clock is stepped.
    public var epoch: Epoch
    /// The estimate.
    public var point: ClockPoint

    /// Creates the estimate of a device.
    public init(device: DeviceAddress, epoch: Epoch, point: ClockPoint) {
        self.device = device
        self.epoch = epoch
        self.point = point
    }
}

/// A new time of evidence for the state of a device.
public struct DeviceEvidence: Sendable, Hashable {
    /// The device.
    public let device: DeviceAddress
    /// The time of the evidence, on the device's time line.
    public let time: Timestamp
    /// A number of the device that its writer uses for no other device, or nil.
    package let number: Int?

    /// Creates the evidence of a device.
    public init(device: DeviceAddress, time: Timestamp) { self.init(device: device, time: time, number: nil) }

    /// Creates the evidence of a device with a number.
    package init(device: DeviceAddress, time: Timestamp, number: Int?) {
        self.device = device
        self.time = time
        self.number = number
    }
}

/// A batch with its sender and time of receipt.
public struct ReceivedBatch: Sendable, Equatable {
    /// The sender.
    public var device: DeviceAddress
    /// The batch.
    public var batch: Batch
    /// The time of receipt, on the collector's clock.
    public var receivedAt: Timestamp

    /// Creates a received batch.
    public init(device: DeviceAddress, batch: Batch, receivedAt: Timestamp) {
        self.device = device
        self.batch = batch
        self.receivedAt = receivedAt
    }
}

/// A rejected message, stored for troubleshooting.
public struct RejectedMessage: Sendable, Hashable {
    /// The time of receipt, on the collector's clock.
    public var at: Timestamp
    /// The topic of the message.
    public var topic: String
    /// The reason for the rejection.
    public var reason: String
    /// The size of the payload, in bytes.
    public var size: Int
    /// The first bytes of the payload. A store keeps at most 256 of them.
    public var head: [UInt8]

    /// Creates a rejected message.
    public init(at: Timestamp, topic: String, reason: String, size: Int, head: [UInt8]) {
        self.at = at
        self.topic = topic
        self.reason = reason
        self.size = size
        self.head = head
    }
}

/// A life-cycle transition with its device.
public struct DeviceTransition: Sendable, Hashable {
    /// The device.
    public var device: DeviceAddress
    /// The transition.
    public var transition: LifecycleTransition

    /// Creates a transition of a device.
    public init(device: DeviceAddress, transition: LifecycleTransition) {
        self.device = device
        self.transition = transition
    }
}

/// Batches that an agent reports as dropped. They will never be sent.
///
/// If `ranges` is empty, nothing is written, but ``IngestResult/received`` contains the known batch numbers of the
/// device and epoch.
public struct DroppedBatches: Sendable, Hashable {
    /// The device.
    public var device: DeviceAddress
    /// The epoch of the batch numbers.
    public var epoch: Epoch
    /// The numbers of the dropped batches.
    public var ranges: SequenceSet

    /// Creates a report of dropped batches.
    public init(device: DeviceAddress, epoch: Epoch, ranges: SequenceSet) {
        self.device = device
        self.epoch = epoch
        self.ranges = ranges
    }
}
