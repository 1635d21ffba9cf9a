public import LockstepModel

/// Evaluates what a store writes, and adds events to the same transaction.
///
/// The store calls it on its own thread. Only rows that the store did not have are passed, each once.
public protocol IngestObserver: AnyObject {
    /// Returns whether the samples of a stream are of interest. The answer may change only with a new observer.
    func watches(_ stream: SensorStream) -> Bool

    /// Starts a part of a transaction.
    func beginGroup(_ group: IngestGroup)

    /// Prepares for samples of a device, before they are written.
    /// - Parameter newest: returns the time of the newest stored sample of this stream, or nil if there is none.
    func willWrite(
        _ stream: SensorStream, of device: Int64, _ address: DeviceAddress, newest: () throws -> Int64?) throws

    /// Evaluates new rows, whose times increase.
    func didWrite(_ rows: Range<Int>, of run: SampleRun, device: Int64)

    /// Evaluates a transition.
    func didChange(_ transition: LifecycleTransition, of device: Int64, _ address: DeviceAddress)

    /// The life cycle of a device is written. Nothing is evaluated for a device that is forgotten, until it returns.
    func didUpdate(_ device: Int64, _ address: DeviceAddress, isForgotten: Bool)

    /// Advances the time.
    /// - Parameter health: returns the numbers of missing and dropped batches of each device that has any.
    func tick(_ tick: IngestGroup.Tick, health: () throws -> [DeliveryFigures]) throws

    /// Returns whether a rule has states with this name. The store removes the others. The answer may change only with a
    /// new observer.
    func keepsStates(named rule: String) -> Bool

    /// Returns and forgets the events and changed states since the last call, for the store to write before the commit.
    func takeOutcome() -> ObservedOutcome

    /// The transaction has been committed.
    func didCommit()

    /// The transaction has been rolled back.
    func didRollBack()
}

/// The numbers of missing and dropped batches of a device.
public struct DeliveryFigures: Sendable {
    /// The id of the device in the store.
    public let device: Int64
    /// The device.
    public let address: DeviceAddress
    /// The number of missing batches.
    public let missing: Int64
    /// The number of dropped batches.
    public let dropped: Int64

    /// Creates the numbers of a device.
    public init(device: Int64, address: DeviceAddress, missing: Int64, dropped: Int64) {
        self.device = device
        self.address = address
        self.missing = missing
        self.dropped = dropped
    }
}

/// What an observer adds to a transaction.
public struct ObservedOutcome: Sendable {
    /// The new events.
    public var events: [RuleEvent] = []
    /// The states that changed.
    public var states: [ObserverState] = []

    /// Creates an empty outcome.
    public init() {}

    /// Whether nothing was added.
    public var isEmpty: Bool { events.isEmpty && states.isEmpty }
}

/// A state that an observer keeps in the store.
public struct ObserverState: Sendable, Hashable {
    /// The name of the rule.
    public var rule: String
    /// The device, or nil for the collector's machine.
    public var device: DeviceAddress?
    /// The state, as JSON.
    public var json: String

    /// Creates a state.
    public init(rule: String, device: DeviceAddress?, json: String) {
        self.rule = rule
        self.device = device
        self.json = json
    }
}

/// A notification of an event by one way.
public struct EventDelivery: Sendable, Hashable {
    /// The state of a delivery.
    public enum State: String, Sendable {
        /// It is to be sent.
        case pending
        /// The receiver confirmed it.
        case sent
        /// It is not tried any more.
        case dead
    }

    /// The number of the delivery.
    public let id: Int64
    /// The event.
    public let event: StoredEvent
    /// The name of the way.
    public let way: String
    /// The state.
    public var state: State
    /// The number of failed attempts.
    public var attempts: Int
    /// The time of the next attempt.
    public var due: Timestamp
    /// The last error.
    public var error: String?

    /// Creates a notification.
    public init(
        id: Int64, event: StoredEvent, way: String, state: State, attempts: Int, due: Timestamp, error: String? = nil
    ) {
        self.id = id
        self.event = event
        self.way = way
        self.state = state
        self.attempts = attempts
        self.due = due
        self.error = error
    }
}

/// The result of an attempt to deliver.
public struct DeliveryUpdate: Sendable, Hashable {
    /// The number of the delivery.
    public let id: Int64
    /// The device of the event, or nil if it has none. Together with the number, it identifies the delivery.
    public let device: DeviceAddress?
    /// The new state.
    public let state: EventDelivery.State
    /// The number of failed attempts.
    public let attempts: Int
    /// The time of the next attempt.
    public let due: Timestamp
    /// The error, or nil.
    public let error: String?

    /// Creates the result of an attempt.
    public init(
        of delivery: EventDelivery, state: EventDelivery.State, attempts: Int, due: Timestamp, error: String?
    ) {
        id = delivery.id
        device = delivery.event.device
        self.state = state
        self.attempts = attempts
        self.due = due
        self.error = error
    }
}

/// An acknowledgement of an event by a person.
public struct EventAcknowledgement: Sendable, Hashable {
    /// The event.
    public var key: RuleEvent.Key
    /// When it was acknowledged, on the collector's clock.
    public var at: Timestamp

    /// Creates an acknowledgement.
    public init(key: RuleEvent.Key, at: Timestamp) {
        self.key = key
        self.at = at
    }
}
