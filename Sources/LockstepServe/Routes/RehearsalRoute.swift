import Hummingbird
import LockstepHTTP
import LockstepModel
import LockstepMotion
import LockstepRules
import LockstepStore
import LockstepWire

/// What a rule about an area would have notified in the past, as `lockstep rules test` finds it.
///
/// The answer to `GET /api/v1/rules/test?corners=48.1,11.5&radius=100&when=enter` is
/// `{"count":14,"devices":[{"device":"lab/left","count":14}]}`.
struct RehearsalRoute {
    let store: StorePool

    /// The maximum number of positions, which are read within about ten seconds.
    private static let mostPositions = 5_000_000

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(
            Route(
                "GET", "/api/v1/rules/test", right: .read, parameters: ["corners", "radius", "when", "from", "to"])
        ) { call in
            let now = Moment.now().wall
            let from = try call.query.time("from", now: now) ?? now - 7 * 86_400_000_000
            let to = try call.query.time("to", now: now) ?? now
            guard from <= to else { throw Problem.badRequest("'from' is later than 'to': swap them") }
            let kind = try kind(call.query)
            let rule = Rule(
                name: "area", condition: .place(PlaceCondition(name: "area", area: try area(call.query), kind: kind)))
            let events = try await store.read { reader, cancellation in
                try Self.events(of: rule, from: from, to: to, in: reader, cancellation)
            }
            return Response(json: Self.json(of: events))
        }
    }

    private func kind(_ query: QueryParameters) throws(Problem) -> PlaceCondition.Kind {
        switch query.all("when").first {
        case "enter": .enter
        case "leave": .leave
        default: throw .badRequest("'when' must be enter or leave")
        }
    }

    /// Returns a circle, if there is a radius, or a polygon.
    private func area(_ query: QueryParameters) throws(Problem) -> Area {
        let numbers = (query.all("corners").first ?? "").split(separator: ",").map { Double($0) ?? .nan }
        let corners = stride(from: 0, to: numbers.count - 1, by: 2).map {
            Coordinate(latitude: numbers[$0], longitude: numbers[$0 + 1])
        }
        guard numbers.count == 2 * corners.count, corners.allSatisfy(\.isValid) else {
            throw .badRequest("'corners' must be latitudes and longitudes in degrees: LATITUDE,LONGITUDE,…")
        }
        if let radius = try query.value("radius", parse: { Double($0) ?? .nan }) {
            guard corners.count == 1, (1...1_000_000).contains(radius) else {
                throw .badRequest("'radius' must be 1 to 1000000 m, with one corner, the centre of the circle")
            }
            return .circle(corners[0], radius: radius)
        }
        guard corners.count >= 3 else {
            throw .badRequest("'corners' must have at least three corners, or one and a 'radius'")
        }
        return .polygon(corners)
    }

    private static func events(
        of rule: Rule, from: Timestamp, to: Timestamp, in reader: StoreReader, _ cancellation: QueryCancellation
    ) throws -> [RuleEvent] {
        var rehearsal = Rehearsal(RuleSet(rules: [rule]))
        var count = 0
        for device in try reader.devices().map(\.address) {
            var block = SampleBlock(stream: .location)
            let query = SampleQuery(device: device, stream: .location, from: from, to: to)
            try reader.run(query, cancellation: cancellation) { time, values in
                count += 1
                guard count <= mostPositions else {
                    throw Problem.badRequest("there are more than \(mostPositions) positions: choose a shorter time")
                }
                if block.count >= 10_000 {
                    rehearsal.add(block, of: device)
                    block = SampleBlock(stream: .location)
                }
                block.append(time: time, values: values)
            }
            rehearsal.add(block, of: device)
        }
        return rehearsal.events(until: to)
    }

    private static func json(of events: [RuleEvent]) -> [UInt8] {
        let devices = Dictionary(grouping: events) { $0.device?.description ?? "" }.sorted { $0.key < $1.key }
        var object = JSONObjectWriter()
        object.member("count", Int64(events.count))
        object.member("devices", devices) { writer, device in
            writer.object { object in
                object.member("device", device.key)
                object.member("count", Int64(device.value.count))
            }
        }
        return object.finish()
    }
}
