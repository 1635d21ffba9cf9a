import LockstepHTTP
import LockstepModel
import LockstepMotion
import LockstepRules
import LockstepStore
import LockstepWire

/// A checked query of what a rule about an area would have told in the past.
struct RehearsalQuery: Sendable {
    static let parameters = ["corners", "radius", "when", "from", "to"]
    /// More corners do not fit into the target of a request.
    static let mostCorners = 200

    let rule: Rule
    let from: Timestamp
    let to: Timestamp
    /// The maximum number of positions. The newest ones are read.
    var mostPositions: Int64

    /// Reads the parameters.
    /// - Throws: ``Problem`` for an invalid parameter.
    init(_ query: QueryParameters, _ limits: ServeLimits, now: Timestamp) throws(Problem) {
        to = try query.time("to", now: now) ?? now
        from = try query.time("from", now: now) ?? to - 7 * 86_400_000_000
        guard from <= to else { throw .badRequest("'from' is later than 'to': swap them") }
        guard to - from <= limits.sampleSpan else {
            throw .badRequest("the time range is longer than \(limits.sampleSpan / 86_400_000_000) days: shorten it")
        }
        let area = try Self.area(query)
        let kind: PlaceCondition.Kind
        switch query.all("when").first {
        case "enter": kind = .enter
        case "leave": kind = .leave
        default: throw .badRequest("'when' must be enter or leave")
        }
        rule = Rule(name: "area", condition: .place(PlaceCondition(name: "area", area: area, kind: kind)))
        // Read within about ten seconds. The distance to a polygon takes time for each corner.
        mostPositions = min(5_000_000, 100_000_000 / Int64(area.points.count))
    }

    /// Returns a circle, if there is a radius, or a polygon.
    private static func area(_ query: QueryParameters) throws(Problem) -> Area {
        let words = (query.all("corners").first ?? "").split(separator: ",", omittingEmptySubsequences: false)
        guard words.count <= 2 * mostCorners else {
            throw .badRequest("'corners' has more than \(mostCorners) corners")
        }
        let numbers = words.map { Double($0) ?? .nan }
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

    /// Reads positions, and finds the events that the rule would have had.
    func result(in reader: StoreReader, _ cancellation: QueryCancellation) throws -> RehearsalResult {
        let devices = try reader.devices().map(\.address)
        let start = try start(devices, in: reader, cancellation)
        var result = RehearsalResult(isCut: start > from)
        var rehearsal = Rehearsal(RuleSet(rules: [rule]))
        for device in devices {
            var block = SampleBlock(stream: .location)
            let query = SampleQuery(device: device, stream: .location, from: start, to: to)
            try reader.run(query, cancellation: cancellation) { time, values in
                result.add(time, of: device)
                if block.count >= 10_000 {
                    rehearsal.add(block, of: device)
                    block = SampleBlock(stream: .location)
                }
                block.append(time: time, values: values)
            }
            rehearsal.add(block, of: device)
        }
        for event in rehearsal.events(until: to) { event.device.map { result.devices[$0]?.events += 1 } }
        return result
    }

    /// Returns the time from which there are at most ``mostPositions``, to a thousandth of the range.
    private func start(
        _ devices: [DeviceAddress], in reader: StoreReader, _ cancellation: QueryCancellation
    ) throws -> Timestamp {
        var counts: [Timestamp: Int64] = [:]
        for device in devices {
            let query = EnvelopeQuery(device: device, stream: .location, from: from, to: to, points: 1000)
            for bucket in try reader.envelope(query, cancellation: cancellation).buckets {
                counts[bucket.start, default: 0] += bucket.samples
            }
        }
        var start = to
        var sum: Int64 = 0
        for (time, count) in counts.sorted(by: { $0.key > $1.key }) {
            sum += count
            guard sum <= mostPositions else { return start }
            start = time
        }
        return from
    }
}

/// The events that a rule would have had, and the positions that were read for that.
struct RehearsalResult {
    /// Whether there are older positions in the range that were not read.
    let isCut: Bool
    /// The time of the first and of the last position.
    private(set) var times: ClosedRange<Timestamp>?
    /// The numbers of positions and events of each device with positions.
    fileprivate(set) var devices: [DeviceAddress: (positions: Int64, events: Int64)] = [:]

    fileprivate init(isCut: Bool) { self.isCut = isCut }

    fileprivate mutating func add(_ time: Timestamp, of device: DeviceAddress) {
        devices[device, default: (0, 0)].positions += 1
        times = min(times?.lowerBound ?? time, time)...max(times?.upperBound ?? time, time)
    }

    /// The document `{"count":14,"positions":3412,"first":…,"last":…,"is_cut":false,"devices":[…]}`, with a device as
    /// `{"device":"lab/left","count":14,"positions":3000}`.
    var json: [UInt8] {
        var object = JSONObjectWriter()
        object.member("count", devices.values.reduce(0) { $0 + $1.events })
        object.member("positions", devices.values.reduce(0) { $0 + $1.positions })
        object.member("first", orNull: times?.lowerBound.microseconds)
        object.member("last", orNull: times?.upperBound.microseconds)
        object.member("is_cut", isCut)
        let sorted = devices.map { ("\($0.key)", $0.value) }.sorted { $0.0 < $1.0 }
        object.member("devices", sorted) { writer, device in
            writer.object { object in
                object.member("device", device.0)
                object.member("count", device.1.events)
                object.member("positions", device.1.positions)
            }
        }
        return object.finish()
    }
}
