import LockstepModel

/// What Home Assistant shows of one device. Unknown values are nil.
struct HomeAssistantDevice {
    /// The last known position.
    struct Fix: Equatable {
        var time: Int64
        /// The time, or that of the arrival if the clock of the device is ahead. So a sample from the future does not
        /// block later ones.
        var order: Int64
        var latitude: Double
        var longitude: Double
        var accuracy: Double?
        var altitude: Double?
        var speed: Double?
        var course: Double?
    }

    /// The last report of the battery.
    struct Battery: Equatable {
        /// The time, or that of the arrival if the clock of the device is ahead.
        var order: Int64
        /// The charge, from 0 to 1.
        var level: Double?
        var isCharging: Bool?
    }

    /// The speed from which on a device moves, in m/s.
    static let movingSpeed = 0.5
    /// The age up to which a fix shows a movement, in µs.
    static let fixAge: Int64 = 120_000_000
    /// The age up to which steps show a movement, in µs.
    static let stepAge: Int64 = 30_000_000

    /// The last value of a column of a stream without an entity of its own.
    struct Measurement: Equatable {
        /// The time, or that of the arrival if the clock of the device is ahead.
        var order: Int64
        var value: Double
    }

    let address: DeviceAddress
    private var connectivity = DeviceConnectivity()
    private(set) var fix: Fix?
    private(set) var battery: Battery?
    private(set) var steps = IntervalTotals()
    private(set) var floorsAscended = IntervalTotals()
    private(set) var floorsDescended = IntervalTotals()
    /// The last known values, by the keys of their entities.
    private(set) var measurements: [String: Measurement] = [:]
    /// Whether the device has, or had when it was connected, only simulated sensors.
    private(set) var isSimulated = false
    /// The time of the newest sample in µs since 1970.
    private(set) var newest: Int64?

    init(_ address: DeviceAddress) { self.address = address }

    /// Whether the broker has neither a state nor a presence of the device any more.
    var isDeleted: Bool { connectivity.isDeleted }

    /// Whether the device is connected, as far as is known.
    var isConnected: Bool { connectivity.isConnected }

    /// The last state.
    var transition: LifecycleTransition? { connectivity.transition }

    /// Returns whether the device moves, or nil if neither a speed nor steps are known.
    func isMoving(at now: Timestamp) -> Bool? {
        if let fix, let speed = fix.speed, now.microseconds - fix.order <= Self.fixAge, speed >= Self.movingSpeed {
            return true
        }
        if let end = steps.newest, abs(now.microseconds - end) <= Self.stepAge { return true }
        return fix?.speed == nil && !steps.isKnown ? nil : false
    }

    /// Records a state, or its deletion.
    mutating func note(_ transition: LifecycleTransition?) { connectivity.note(transition) }

    /// Records a presence, or its deletion.
    mutating func note(_ presence: Presence?) {
        connectivity.note(presence)
        // The last will of an agent names no sources.
        guard let sources = presence?.sources.keys, !sources.isEmpty else { return }
        isSimulated = sources.allSatisfy { $0.hasPrefix("simulate") }
    }

    /// Records samples. Streams that Home Assistant does not show are ignored.
    /// - Parameter now: the time of arrival.
    mutating func note(_ samples: SampleBlock, at now: Timestamp) {
        guard let last = samples.times.max().map({ min($0, now.microseconds) }) else { return }
        newest = max(newest ?? last, last)
        guard [.location, .battery, .steps, .floors].contains(samples.stream) else {
            // The last value of each column: a stream may have a high rate.
            for column in HomeAssistantEntity.columns(of: samples.stream) {
                guard let index = samples.stream.columns.firstIndex(where: { $0.name == column.name }),
                    let row = samples.columns[index].lastIndex(where: \.isFinite)
                else { continue }
                let key = HomeAssistantEntity.key(of: column, in: samples.stream)
                let order = min(samples.times[row], now.microseconds)
                guard order >= measurements[key]?.order ?? order else { continue }
                measurements[key] = Measurement(order: order, value: samples.columns[index][row])
            }
            return
        }
        for index in samples.times.indices {
            let (time, values) = (samples.times[index], samples.values(at: index))
            let order = min(time, now.microseconds)
            func value(_ name: String) -> Double? {
                samples.stream.columns.firstIndex { $0.name == name }.map { values[$0] }.flatMap {
                    $0.isFinite ? $0 : nil
                }
            }
            switch samples.stream {
            case .location:
                guard order >= fix?.order ?? order, let latitude = value("lat"), let longitude = value("lon") else {
                    continue
                }
                fix = Fix(
                    time: time, order: order, latitude: latitude, longitude: longitude, accuracy: value("hacc"),
                    altitude: value("alt"), speed: value("speed"), course: value("course"))
            case .battery:
                guard order >= battery?.order ?? order else { continue }
                let state = Self.word(value("state"), of: "state", in: samples.stream)
                battery = Battery(
                    order: order, level: value("level"),
                    isCharging: state == nil || state == "unknown" ? nil : state == "charging")
            case .steps:
                steps.add(value("steps") ?? 0, distance: value("distance"), until: time)
            case .floors:
                floorsAscended.add(value("ascended") ?? 0, until: time)
                floorsDescended.add(value("descended") ?? 0, until: time)
            default: break
            }
        }
    }

    private static func word(_ value: Double?, of column: String, in stream: SensorStream) -> String? {
        guard let column = stream.columns.first(where: { $0.name == column }), case .choice(let words) = column.kind,
            let index = value.flatMap({ Int(exactly: $0) }), words.indices.contains(index)
        else { return nil }
        return words[index]
    }
}

/// The sums of steps with their distance, or of floors, since the start of the program. Each interval counts once, however
/// often it arrives.
struct IntervalTotals {
    /// The maximum number of intervals whose repetition is recognised.
    private static let maxIntervals = 8192

    private(set) var count: Int64 = 0
    /// The sum of the distances in m, or nil if no interval has one.
    private(set) var distance: Double?
    /// The end of the newest interval with a count above 0, in µs since 1970.
    private(set) var newest: Int64?
    private var ends: Set<Int64> = []
    /// Intervals that end at this time or earlier are ignored.
    private var horizon = Int64.min

    /// Whether there was any interval.
    var isKnown: Bool { !ends.isEmpty }

    /// Adds an interval, which its end identifies.
    mutating func add(_ count: Double, distance: Double? = nil, until end: Int64) {
        guard end > horizon, count >= 0, let count = Int64(exactly: count), ends.insert(end).inserted else { return }
        // Any client may send a count that would overflow the sum.
        self.count = min(1 << 53, self.count + min(count, 1 << 53))
        if let distance, distance >= 0 { self.distance = min(1e15, (self.distance ?? 0) + distance) }
        if count > 0 { newest = max(newest ?? end, end) }
        guard ends.count > Self.maxIntervals else { return }
        let sorted = ends.sorted()
        horizon = sorted[sorted.count / 2]
        ends = ends.filter { $0 > horizon }
    }
}
