import HTTPTypes
import Hummingbird
import LockstepHTTP
import LockstepLive
import LockstepModel
import LockstepStore

/// The present devices, and streams of events.
struct LiveRoutes {
    let picture: LivePicture
    let knownStreams: KnownStreams
    let streams: EventStreamCounters
    let addresses: AddressCounter

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(Route("GET", "/api/v1/devices", right: .read, parameters: ["group"])) { call in
            Response(json: picture.devicesJSON(group: try call.group()))
        }
        routes.add(Route("GET", "/api/v1/devices/{group}/{device}", right: .read)) { call in
            let address = try call.device()
            guard let json = picture.deviceJSON(address) else { throw Problem.unknown(address) }
            return Response(json: json)
        }
        routes.add(Route("GET", "/api/v1/fleet", right: .read, parameters: ["every", "group"])) { call in
            let interval = try call.query.duration("every", in: 1_000_000...3_600_000_000, "from 1s to 1h")
            let group = try call.group()
            return try respond(call, streams.fleet) {
                () throws(SubscriptionError) in
                try picture.subscribeToDevices(group: group, every: interval ?? 1_000_000)
            }
        }
        routes.add(Route("GET", "/api/v1/states", right: .read)) { call in
            let last = HTTPField.Name("Last-Event-ID").flatMap { call.request.headers[$0] }
            return try respond(call, streams.states) {
                () throws(SubscriptionError) in try picture.subscribeToStates(after: last)
            }
        }
        routes.add(
            Route(
                "GET", "/api/v1/live", right: .read, parameters: ["device", "stream", "hz"],
                repeatable: ["device", "stream"])
        ) { call in
            let request = try sampleRequest(call.query)
            return try respond(call, streams.live) {
                () throws(SubscriptionError) in try picture.subscribe(to: request)
            }
        }
    }

    func respond(
        _ call: APICall, _ counter: ConnectionCounter,
        _ subscribe: () throws(SubscriptionError) -> LiveSubscription
    ) throws(Problem) -> Response {
        guard call.request.method != .head else { return EventStream.head }
        guard let place = addresses.enter(call.memory.client.sharedKey) else {
            throw .tooManyRequests(
                "this address has \(addresses.maximum) event streams: close some, or name several devices in one")
        }
        do { return EventStream.response(try subscribe(), call, counter: counter, place: place) } catch {
            throw .unavailable("\(error)")
        }
    }

    private func sampleRequest(_ query: QueryParameters) throws(Problem) -> SampleRequest {
        var devices: Set<DeviceAddress>? = []
        for text in query.all("device") {
            if text == "*" {
                devices = nil
                break
            }
            devices?.insert(try DeviceAddress.parse(text, or: ", or * for all"))
        }
        guard devices?.isEmpty != true else {
            throw .badRequest("the parameter 'device' is missing: use device=GROUP/DEVICE, or device=* for all")
        }
        guard (devices?.count ?? 0) <= 1000 else {
            throw .badRequest("at most 1000 devices can be named: use device=*")
        }
        var selected: Set<SensorStream>? = query.all("stream").isEmpty ? nil : []
        let catalog = knownStreams.catalog
        for name in query.all("stream") {
            guard let stream = catalog.stream(named: name) else {
                throw .badRequest("stream: \(catalog.unknownStreamMessage(for: name))")
            }
            selected?.insert(stream)
        }
        let hz = try query.value("hz") { text in
            guard let hz = Double(text), SampleRequest.validRates.contains(hz) else {
                throw Problem.badRequest("hz: '\(text.prefix(80))' is not a number from 0.1 to 60")
            }
            return hz
        }
        return SampleRequest(devices: devices, streams: selected, hz: hz ?? 10)
    }
}

/// The numbers of open event streams of each kind.
struct EventStreamCounters: Sendable {
    let fleet = ConnectionCounter(maximum: .max)
    let states = ConnectionCounter(maximum: .max)
    let live = ConnectionCounter(maximum: .max)
    let events = ConnectionCounter(maximum: .max)
    let calibrations = ConnectionCounter(maximum: .max)
}

extension Problem {
    /// A device that neither the broker nor the store knows.
    static func unknown(_ address: DeviceAddress) -> Problem {
        .notFound("there is no device '\(address)': GET /api/v1/devices lists the known devices")
    }
}
