import Hummingbird
import LockstepHTTP
import LockstepLive
import LockstepModel
import LockstepStore
import LockstepWire

/// What is stored of devices besides samples: states, walks, faults in the delivery, and sizes.
struct DeviceHistoryRoutes {
    let history: HistoryRoutes

    private static let maxStates = 10_000
    private static let recentFaults = 50

    private static let path = "/api/v1/devices/{group}/{device}"

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(Route("GET", Self.path + "/states", right: .read, parameters: ["from", "to", "limit"])) { call in
            let (address, from, to) = try await range(call)
            let limit = try call.query.number("limit", in: 1...Self.maxStates) ?? Self.maxStates
            let states = try await history.store.read { reader, cancellation in
                try reader.transitions(of: address, from: from, to: to, limit: limit, cancellation: cancellation)
            }
            return Response(json: json(of: states))
        }
        routes.add(Route("GET", Self.path + "/walk", right: .read, parameters: ["from", "to"])) { call in
            let (address, first, last) = try await range(call)
            let to = last ?? Moment.now().wall
            let from = first ?? to - to.microseconds % 86_400_000_000
            let walk = try await history.store.read { reader, cancellation in
                try reader.walk(of: address, from: from, to: to, cancellation: cancellation)
            }
            return Response(json: json(of: walk, from: from, to: to))
        }
        routes.add(Route("GET", Self.path + "/health", right: .read)) { call in
            let address = try call.device()
            try await history.checkExists(address)
            let health = try await history.store.read { reader, cancellation in
                try reader.health(of: address, limit: Self.recentFaults, cancellation: cancellation)
            }
            return Response(json: json(of: health, address))
        }
        routes.add(Route("GET", "/api/v1/sizes", right: .read)) { _ in
            guard history.store.isFile else { throw Problem.notFound("only an SQLite store has sizes of devices") }
            let sizes = try await history.store.read { reader, _ in try reader.sizes() }
            return Response(json: json(of: sizes))
        }
    }

    private func range(_ call: APICall) async throws -> (DeviceAddress, Timestamp?, Timestamp?) {
        let address = try call.device()
        let now = Moment.now().wall
        let (from, to) = (try call.query.time("from", now: now), try call.query.time("to", now: now))
        if let from, let to, from > to { throw Problem.badRequest("'from' is later than 'to': swap them") }
        try await history.checkExists(address)
        return (address, from, to)
    }

    private func json(of sizes: [SeriesSize]) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("sizes", sizes) { writer, size in
            writer.object { object in
                object.member("device", "\(size.device)")
                object.member("stream", size.stream)
                object.member("samples", size.samples)
                object.member("oldest", size.oldest)
                object.member("bytes", size.bytes)
            }
        }
        return object.finish()
    }

    private func json(of states: [LifecycleTransition]) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("states", states) { writer, state in
            writer.object { object in
                object.member("state", state.to.rawValue)
                object.member("previous", orNull: state.from?.rawValue)
                object.member("reason", state.reason)
                object.member("since", state.since.microseconds)
                object.member("seq", state.seq)
            }
        }
        return object.finish()
    }

    private func json(of walk: WalkSummary, from: Timestamp, to: Timestamp) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("steps", orNull: walk.steps)
        object.member("distance", number: walk.distance)
        object.member("average_pace", number: walk.averagePace)
        object.member("pace", number: walk.pace)
        object.member("cadence", number: walk.cadence)
        object.member("floors_ascended", orNull: walk.floorsAscended)
        object.member("floors_descended", orNull: walk.floorsDescended)
        object.member("newest", orNull: walk.newest?.microseconds)
        object.member("from", from.microseconds)
        object.member("to", to.microseconds)
        return object.finish()
    }

    private func json(of health: DeviceHealth?, _ address: DeviceAddress) -> [UInt8] {
        let live = history.picture.read { $0[address] }
        var object = JSONObjectWriter()
        object.member("samples", health?.device.samples ?? 0)
        object.member("duplicates", health?.device.duplicates ?? 0)
        object.member("conflicts", health?.device.conflicts ?? 0)
        object.member("missing", health?.device.missing ?? 0)
        object.member("on_its_way", health?.device.onItsWay ?? 0)
        object.member("dropped_batches", max(health?.device.dropped ?? 0, live?.droppedBatches ?? 0))
        object.member("dropped_samples", live?.droppedSamples ?? 0)
        object.member("rejected", health?.rejected ?? 0)
        object.member("first_seen", orNull: health?.device.firstSeen?.microseconds)
        object.member("last_seen", orNull: health?.device.lastSeen?.microseconds)
        // The difference between the newest sample and its receipt shows the device's clock and the delay.
        let offset = health.flatMap { health in
            health.device.lastSample.flatMap { sample in health.device.lastSeen.map { sample - $0 } }
        }
        let estimate = health?.clock.map { ($0, $0.at(collectorTime: Moment.now().wall)) }
        object.member("clock") { clock in
            clock.member("offset", orNull: offset)
            clock.member("collector", orNull: estimate?.0.collector.rawValue)
            clock.member("offset_us", number: estimate?.1.offset.rounded())
            clock.member("drift_ppm", number: estimate.map { Double($0.0.skew) / 1000 })
            clock.member("bound_us", number: estimate?.1.bound.rounded(.up))
            clock.member("age_s", number: estimate?.1.age)
        }
        object.member("recent_conflicts", health?.recentConflicts ?? []) { writer, conflict in
            writer.object { object in
                object.member("stream", conflict.stream)
                object.member("t", conflict.time.microseconds)
                object.member("stored", conflict.stored)
                object.member("received", conflict.received)
                object.member("received_at", conflict.receivedAt.microseconds)
            }
        }
        object.member("recent_rejections", health?.recentRejections ?? []) { writer, rejection in
            writer.object { object in
                object.member("topic", rejection.topic)
                object.member("reason", rejection.reason)
                object.member("received_at", rejection.at.microseconds)
            }
        }
        return object.finish()
    }
}

extension JSONObjectWriter {
    /// Writes a member with a finite number, or with null.
    fileprivate mutating func member(_ name: String, number value: Double?) {
        if let value, value.isFinite { member(name, value) } else { nullMember(name) }
    }
}
