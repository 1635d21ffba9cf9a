import LockstepModel
public import LockstepMotion
import LockstepSensors
import Synchronization

/// Where this device is: pushed as a sequence, or pulled as the latest.
///
/// What is passed on is set by ``settings``: how accurate, how far from the last, how old. Fixes that can't be (a
/// receiver's clock that is 1,024 weeks off, a jump faster than anything moves) never are. That there is no location is
/// told too, with the reason; it is no end, and the manager goes on.
public final class LocationManager: Sendable {
    private let hub: SensorHub
    private let state = Mutex(LocationFilter.Settings())
    private let latest = LatestValue<Known>()

    private struct Known: Sendable {
        var current: LocationFix?
        var previous: LocationFix?
        var error: LocationError?
    }

    /// A manager of a hub's locations, which asks for nothing yet.
    public init(hub: SensorHub) { self.hub = hub }

    /// Whether there is a source of locations; whether it has a fix is another question.
    public var isLocationAvailable: Bool { hub.streams.contains(.location) }

    /// What is passed on; for sequences and starts from now on.
    public var settings: LocationFilter.Settings {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
    /// m: less accurate fixes are withheld; nil takes all.
    public var desiredAccuracy: Double? {
        get { settings.desiredAccuracy }
        set { state.withLock { $0.desiredAccuracy = newValue } }
    }
    /// m that the device has to move before the next fix is passed on; 0 passes all.
    public var distanceFilter: Double {
        get { settings.distanceFilter }
        set { state.withLock { $0.distanceFilter = newValue } }
    }

    /// The latest location since the start; it stays when it gets old: see ``LocationFix/age(at:)``.
    public var location: LocationFix? { latest.value?.current }
    /// The one before ``location``.
    public var previousLocation: LocationFix? { latest.value?.previous }
    /// Why there is no location, if that was the last thing heard.
    public var locationError: LocationError? { latest.value?.error }
    /// What ended the updates of ``location``, if it was not a stop.
    public var error: (any Error)? { latest.error }
    /// Whether ``location`` is being updated.
    public var isUpdatingLocation: Bool { latest.isActive }

    /// Begins to keep ``location`` up to date.
    public func startUpdatingLocation() {
        let (hub, settings) = (hub, settings)
        latest.start(
            SensorUpdates {
                hub.updates(for: [.location: .everything])
            } makeTransform: {
                var listener = LocationReceiver(settings)
                var known = Known()
                return { update in
                    let news = listener.receive(update)
                    for update in news {
                        switch update {
                        case .location(let current, let previous):
                            known = Known(current: current, previous: previous)
                        case .failed(let error): known.error = error
                        }
                    }
                    return news.isEmpty ? [] : [known]
                }
            })
    }
    /// Ends that; ``location`` stays as it is.
    public func stopUpdatingLocation() { latest.stop() }

    /// Locations, and why there is none, as they come.
    public func locationUpdates() -> SensorUpdates<LocationUpdate> {
        let (hub, settings) = (hub, settings)
        return SensorUpdates {
            hub.updates(for: [.location: .everything])
        } makeTransform: {
            var listener = LocationReceiver(settings)
            return { listener.receive($0) }
        }
    }

    /// One location that fits ``settings``, as soon as there is one.
    /// - Throws: ``LocationError/denied(_:)``; ``SensorHubError``; `CancellationError`; what ends the source. While it
    ///   is unknown or not reached, it waits: give it a task that can be cancelled.
    public func requestLocation() async throws -> LocationFix {
        for try await update in locationUpdates() {
            switch update {
            case .location(let current, _): return current
            case .failed(.denied(let why)): throw LocationError.denied(why)
            case .failed: continue
            }
        }
        try Task.checkCancellation()
        throw LocationError.locationUnknown("the recording has ended")
    }
}

/// What a ``LocationManager`` tells.
public enum LocationUpdate: Sendable, Hashable {
    /// Where the device is, and where it was when that was last told.
    case location(current: LocationFix, previous: LocationFix?)
    /// There is no location; all but *denied* may pass.
    case failed(LocationError)
}

/// What one reader of locations hears.
private struct LocationReceiver {
    private let settings: LocationFilter.Settings
    private var filter: LocationFilter

    init(_ settings: LocationFilter.Settings) {
        self.settings = settings
        filter = LocationFilter(settings)
    }

    mutating func receive(_ update: SensorUpdate) -> [LocationUpdate] {
        switch update {
        case .samples(let samples):
            var news: [LocationUpdate] = []
            for index in samples.times.indices {
                let time = Timestamp(microseconds: samples.times[index])
                switch filter.update(time: time, values: samples.values(at: index)) {
                case .accepted(let previous, let current):
                    news.append(.location(current: current, previous: previous))
                case .failed(let error): news.append(.failed(error))
                case .withheld: break
                }
            }
            return news
        case .clockStepped:
            // What comes may be earlier than what was.
            filter = LocationFilter(settings)
            return []
        case .status(let status, _, _): return status.locationError.map { [.failed($0)] } ?? []
        }
    }
}
