import LockstepModel
public import LockstepMotion
import LockstepSensors
import Synchronization

/// The location and heading of this device: as sequences, or polled as the latest value.
///
/// The ``settings`` select the fixes that are passed on, by accuracy, distance from the previous fix, and age.
/// Impossible fixes are always rejected: an implausibly fast jump, or a receiver's clock that is wrong by 1,024 weeks.
/// Failures to locate the device are reported with their reason, and do not end the updates.
public final class LocationManager: Sendable {
    let hub: SensorHub
    private let state = Mutex(LocationFilter.Settings())
    private let headingState = Mutex(1.0)
    private let latest = LatestValue<Known>()
    let latestHeading = LatestValue<Heading>()

    private struct Known: Sendable {
        var current: LocationFix?
        var previous: LocationFix?
        var error: LocationError?
    }

    /// Creates a manager without subscriptions.
    public init(hub: SensorHub) { self.hub = hub }

    /// Whether a source provides locations. It may still have no fix.
    public var isLocationAvailable: Bool { hub.streams.contains(.location) }

    /// The criteria for the fixes that are passed on. Changes apply to later sequences and starts.
    public var settings: LocationFilter.Settings {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
    /// The worst accepted accuracy in m; nil accepts all.
    public var desiredAccuracy: Double? {
        get { settings.desiredAccuracy }
        set { state.withLock { $0.desiredAccuracy = newValue } }
    }
    /// The distance in m that the device must move before the next fix is passed on; 0 passes all.
    public var distanceFilter: Double {
        get { settings.distanceFilter }
        set { state.withLock { $0.distanceFilter = newValue } }
    }

    /// The change of the heading in degrees after which it is passed on; 0 passes all. 1 by default.
    public var headingFilter: Double {
        get { headingState.withLock { $0 } }
        set { headingState.withLock { $0 = newValue } }
    }

    /// The latest location since the start. It is kept regardless of its age, see
    /// ``/LockstepMotion/LocationFix/age(at:)``.
    public var location: LocationFix? { latest.value?.current }
    /// The location before ``location``.
    public var previousLocation: LocationFix? { latest.value?.previous }
    /// The latest failure; nil after a location.
    public var locationError: LocationError? { latest.value?.error }
    /// The error that ended the updates of ``location``; nil after a stop.
    public var error: (any Error)? { latest.error }
    /// Whether ``location`` is being updated.
    public var isUpdatingLocation: Bool { latest.isActive }

    /// Starts updating ``location``.
    public func startUpdatingLocation() {
        let (hub, settings) = (hub, settings)
        latest.start(
            SensorUpdates {
                hub.updates(for: [.location: .everything])
            } makeTransform: {
                var receiver = LocationReceiver(settings)
                var known = Known()
                return { update in
                    let updates = receiver.receive(update)
                    for update in updates {
                        switch update {
                        case .location(let current, let previous):
                            known = Known(current: current, previous: previous)
                        case .failed(let error): known.error = error
                        }
                    }
                    return updates.isEmpty ? [] : [known]
                }
            })
    }
    /// Stops the updates and keeps the latest location.
    public func stopUpdatingLocation() { latest.stop() }

    /// Returns locations and failures as they occur.
    public func locationUpdates() -> SensorUpdates<LocationUpdate> {
        let (hub, settings) = (hub, settings)
        return SensorUpdates {
            hub.updates(for: [.location: .everything])
        } makeTransform: {
            var receiver = LocationReceiver(settings)
            return { receiver.receive($0) }
        }
    }

    /// Waits for one location that fits ``settings``.
    ///
    /// It keeps waiting while the location is unknown or its source is unreachable; cancel the task to stop it.
    /// - Throws: ``/LockstepMotion/LocationError/denied(_:)``, ``SensorHubError``, `CancellationError`, or the error
    ///   that ended the source.
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

/// An update of a ``LocationManager``.
public enum LocationUpdate: Sendable, Hashable {
    /// The location, and the one passed on before it.
    case location(current: LocationFix, previous: LocationFix?)
    /// The location is not available. All reasons except `denied` may be temporary.
    case failed(LocationError)
}

/// Converts the updates of a subscription to location updates.
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
            var updates: [LocationUpdate] = []
            for index in samples.times.indices {
                let time = Timestamp(microseconds: samples.times[index])
                switch filter.update(time: time, values: samples.values(at: index)) {
                case .accepted(let previous, let current):
                    updates.append(.location(current: current, previous: previous))
                case .failed(let error): updates.append(.failed(error))
                case .rejected: break
                }
            }
            return updates
        case .clockStepped:
            // Later fixes may have earlier timestamps.
            filter = LocationFilter(settings)
            return []
        case .status(let status, _, _): return status.locationError.map { [.failed($0)] } ?? []
        }
    }
}
