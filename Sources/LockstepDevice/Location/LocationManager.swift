import LockstepModel
public import LockstepMotion
import LockstepSensors
import Synchronization

/// The location and heading of this device, as sequences or polled as the latest value.
///
/// The ``settings`` select which fixes are passed on, by accuracy, distance from the last one, and age. Implausible
/// fixes (a receiver's clock that is 1,024 weeks off, an implausibly fast jump) are never passed on. Failures to locate
/// the device are reported with their reason, and the manager continues.
public final class LocationManager: Sendable {
    let hub: SensorHub
    private let lockedSettings = Mutex(LocationFilter.Settings())
    private let lockedHeadingFilter = Mutex(1.0)
    private let latest = LatestValue<Snapshot>()
    let latestHeading = LatestValue<Heading>()

    /// The values that polling returns.
    private struct Snapshot: Sendable {
        var current: LocationFix?
        var previous: LocationFix?
        var error: LocationError?
    }

    /// Creates a manager without subscriptions.
    public init(hub: SensorHub) { self.hub = hub }

    /// Whether a source provides locations. It may still have no fix.
    public var isLocationAvailable: Bool { hub.streams.contains(.location) }

    /// The settings that select the fixes to pass on. Changes apply to sequences and polling that start later.
    public var settings: LocationFilter.Settings {
        get { lockedSettings.withLock { $0 } }
        set { lockedSettings.withLock { $0 = newValue } }
    }
    /// The worst accepted accuracy in m; nil accepts all.
    public var desiredAccuracy: Double? {
        get { settings.desiredAccuracy }
        set { lockedSettings.withLock { $0.desiredAccuracy = newValue } }
    }
    /// The distance in m that the device must move before the next fix is passed on; 0 passes all.
    public var distanceFilter: Double {
        get { settings.distanceFilter }
        set { lockedSettings.withLock { $0.distanceFilter = newValue } }
    }

    /// The change of the heading in degrees after which it is passed on; 0 passes all headings. The default is 1.
    public var headingFilter: Double {
        get { lockedHeadingFilter.withLock { $0 } }
        set { lockedHeadingFilter.withLock { $0 = newValue } }
    }

    /// The latest location since the start, or nil before the first. It is kept when it becomes old; see
    /// ``/LockstepMotion/LocationFix/age(at:)``.
    public var location: LocationFix? { latest.value?.current }
    /// The location before ``location``.
    public var previousLocation: LocationFix? { latest.value?.previous }
    /// The latest failure; nil after a location has been received.
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
                var snapshot = Snapshot()
                return { update in
                    let updates = receiver.receive(update)
                    for update in updates {
                        switch update {
                        case .location(let current, let previous):
                            snapshot = Snapshot(current: current, previous: previous)
                        case .failed(let error): snapshot.error = error
                        }
                    }
                    return updates.isEmpty ? [] : [snapshot]
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

    /// Waits for one location that meets the ``settings``.
    ///
    /// The function keeps waiting while the location is unknown or its source cannot be reached. Cancel the task to
    /// stop it.
    /// - Throws: ``/LockstepMotion/LocationError/denied(_:)``, ``SensorHubError``, `CancellationError`, or the error
    ///   that ended the source.
    public func requestLocation() async throws -> LocationFix {
        for try await update in locationUpdates() {
            switch update {
            case .location(let current, _): return current
            case .failed(.denied(let reason)): throw LocationError.denied(reason)
            case .failed: continue
            }
        }
        try Task.checkCancellation()
        throw LocationError.locationUnknown("the recording has ended")
    }
}

/// An update of a ``LocationManager``.
public enum LocationUpdate: Sendable, Hashable {
    /// The current location, and the one that was passed on before it.
    case location(current: LocationFix, previous: LocationFix?)
    /// The location is not available. All failures except `denied` may be temporary.
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
