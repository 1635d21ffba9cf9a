import HTTPTypes
import Hummingbird
import LockstepHTTP
import LockstepLive
import LockstepModel
import LockstepStore
import LockstepWire
import Logging

/// The events of rules, and their acknowledgement.
///
/// Lists and counts come from the store. The stream of events also has those of messages, so it needs no store.
struct EventRoutes {
    let feed: LiveFeed
    let store: StorePool
    let live: LiveRoutes
    let logger: Logger

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(
            Route("GET", "/api/v1/events", right: .read, parameters: EventFilter.parameters)
        ) { call in
            if Self.acceptsStream(call.request.headers[.accept]) { return try stream(call) }
            let filter = try EventFilter(call, now: Moment.now().wall)
            return Response(json: filter.json(of: try await store.read { try filter.events(in: $0, $1) }))
        }
        routes.add(
            Route("GET", "/api/v1/events/count", right: .read, parameters: EventFilter.countParameters)
        ) { call in
            let filter = try EventFilter(call, now: Moment.now().wall)
            return Response(json: filter.json(of: try await store.read { try filter.counts(in: $0, $1) }))
        }
        routes.add(
            Route(
                "POST", "/api/v1/events/{id}/acknowledge", right: .operate,
                parameters: ["device", "rule", "t"])
        ) { call in
            let key = try await event(call)
            do {
                let confirmation = try await feed.requests.acknowledge(
                    key, collectors: feed.picture.read { Array($0.collectors.keys) })
                logger.info(
                    "event acknowledged",
                    metadata: ["rule": "\(key.rule)", "device": "\(key.device.map { "\($0)" } ?? "collector")"])
                var object = JSONObjectWriter()
                object.member("id", confirmation.id)
                object.member("acknowledged", confirmation.acknowledged.microseconds)
                return Response(json: object.finish())
            } catch let error as CommandError { throw CommandRoutes.problem(error) }
        }
    }

    /// Returns whether a client prefers Server-Sent Events to a document.
    static func acceptsStream(_ accept: String?) -> Bool {
        let first = accept?.split(separator: ",").first?.prefix { $0 != ";" }
        return first?.filter { $0 != " " }.lowercased() == "text/event-stream"
    }

    private func stream(_ call: APICall) throws(Problem) -> Response {
        if let name = EventFilter.parameters.first(where: { !call.query.all($0).isEmpty }) {
            throw .badRequest(
                "the parameter '\(name)' is not for 'Accept: text/event-stream', which sends all events: leave it out")
        }
        let last = HTTPField.Name("Last-Event-ID").flatMap { call.request.headers[$0] }
        return try live.respond(call, live.streams.events) {
            () throws(SubscriptionError) in try feed.picture.subscribeToEvents(after: last)
        }
    }

    /// Returns the event in the path.
    ///
    /// Its number is unique in one store only. With `rule` and `t` the request identifies the event in every store.
    /// - Throws: ``Problem`` if there is none, or if several collectors use its number.
    private func event(_ call: APICall) async throws -> RuleEvent.Key {
        let text = call.path["id"] ?? ""
        guard let id = Int64(text), (1...Int64(EventFilter.maxNumber)).contains(id) else {
            throw Problem.badRequest("'\(text.prefix(80))' is not the number of an event: use its 'id'")
        }
        let device = try call.query.value("device") { try DeviceAddress.parse($0) }
        let time = try call.query.number("t", in: 0...EventFilter.maxNumber)
        switch (call.query.all("rule").first, time) {
        case (let rule?, let time?):
            return RuleEvent.Key(rule: rule, device: device, time: Timestamp(microseconds: Int64(time)))
        case (nil, nil): break
        default: throw Problem.badRequest("'rule' and 't' identify an event together: give both, or neither")
        }
        // Messages of another collector may have the number of an event in the store.
        var keys = Set(
            feed.picture.events.filter { $0.id == id && $0.key.device == device ?? $0.key.device }.map(\.key))
        if store.hasStore {
            let stored = try await store.read { reader, cancellation in
                try reader.events(
                    of: device, after: id - 1, before: id + 1, cancellation: cancellation)
            }
            keys.formUnion(stored.map(\.key))
        }
        guard let key = keys.first else {
            throw Problem.notFound("there is no event \(id): GET /api/v1/events lists the events")
        }
        guard keys.count == 1 else {
            throw Problem(
                status: 409, title: "Ambiguous",
                detail:
                    "several collectors have an event \(id): add the parameters 'rule', 't' and, unless it is null, 'device' "
                    + "of the event")
        }
        return key
    }
}
