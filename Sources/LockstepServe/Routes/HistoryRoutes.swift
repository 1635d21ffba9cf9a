import HTTPTypes
import Hummingbird
import HummingbirdCore
import LockstepExport
import LockstepHTTP
import LockstepLive
import LockstepModel
import LockstepStore
import NIOCore

/// The stored samples.
struct HistoryRoutes {
    let store: StorePool
    let picture: LivePicture
    let knownStreams: KnownStreams

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(
            Route(
                "GET", "/api/v1/devices/{group}/{device}/streams/{stream…}", right: .read,
                parameters: StreamQuery.parameters)
        ) { call in
            let address = try call.device()
            let stream = try await stream(named: call.path["stream"] ?? "")
            let query = try StreamQuery(
                device: address, stream: stream, call.query, call.limits, now: Moment.now().wall)
            try await checkExists(address)
            return try await respond(query, call)
        }
    }

    /// Returns the stream with a name.
    func stream(named name: String) async throws -> SensorStream {
        if let known = knownStreams.catalog.stream(named: name) { return known }
        // The store may have been opened, or the stream declared, a moment ago.
        if store.hasStore, name.hasPrefix(SensorStream.declaredPrefix) {
            knownStreams.use(stored: try await store.read { reader, _ in try reader.catalog() })
        }
        let catalog = knownStreams.catalog
        guard let stream = catalog.stream(named: name) else {
            throw Problem.notFound(catalog.unknownStreamMessage(for: name))
        }
        return stream
    }

    /// Throws if neither the broker nor the store knows the device.
    func checkExists(_ address: DeviceAddress) async throws {
        if picture.read({ $0[address] != nil }) { return }
        // Only this device: a list of all is expensive, and anyone may ask for a device that does not exist.
        let isStored = try await store.read { reader, cancellation in
            try reader.contains(address, cancellation: cancellation)
        }
        guard isStored else { throw Problem.unknown(address) }
    }

    private func respond(_ query: StreamQuery, _ call: APICall) async throws -> Response {
        let limit = query.limit ?? (query.format == .json ? call.limits.rows : .max)
        // The first page decides about the status, because the status cannot be changed after it is sent.
        guard let room = call.memory.page(of: query) else { throw AnswerMemory.problem }
        var state = RowStream(query: query, limit: limit)
        let first = try await state.advance(RowPages(query: query, pageRows: room.rows), store)
        if state.isComplete {
            return Response(
                status: .ok, headers: [.contentType: query.format.contentType],
                body: .init(byteBuffer: ByteBuffer(bytes: first)))
        }
        room.reservation.resize(to: first.count)
        let start = FirstPage(state, first, room)
        let (request, memory) = (call.request, call.memory)
        let store = store
        let rate = call.limits.outputRate
        return Response(
            status: .ok, headers: [.contentType: query.format.contentType, .connection: "close"],
            body: ResponseBody { writer in
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    guard var (state, bytes, room) = start.take() else { return }
                    var limiter = OutputRateLimiter(rate: rate)
                    while true {
                        let count = bytes.count
                        try await memory.writeParts(of: ByteBuffer(bytes: bytes), to: &writer)
                        bytes = []
                        // Only then is the next page read, so that a client that does not read has one page at most.
                        try await UnsentBytes.untilTaken(memory.channel)
                        room.reservation.resize(to: 0)
                        if state.isComplete { break }
                        try await Task.sleep(until: limiter.send(count))
                        room = try await memory.nextPage(of: query)
                        bytes = try await state.advance(RowPages(query: query, pageRows: room.rows), store)
                        room.reservation.resize(to: bytes.count)
                    }
                }
                try await writer.finish(nil)
            })
    }
}

/// The progress of an answer with rows.
struct RowStream: Sendable {
    private let query: StreamQuery
    private var remaining: Int
    private var position: Timestamp
    private var writer: any RowWriter
    /// The conversion to the collector's time line, once the first page has read it.
    private var clock: CollectorTime?
    private var hasBegun = false
    /// The number of samples that averages or buckets stand for, and that of those which were read as summaries.
    private var (samples, summarised): (Int64, Int64) = (0, 0)
    /// Whether the last bytes were read.
    private(set) var isComplete = false

    init(query: StreamQuery, limit: Int) {
        self.query = query
        remaining = limit
        position = query.from
        writer = query.writer()
    }

    /// Reads and returns the next bytes.
    mutating func advance(_ pages: RowPages, _ store: StorePool) async throws -> [UInt8] {
        let (start, limit, formerWriter, formerClock) = (position, remaining, writer, clock)
        let (page, used, read) = try await store.read { reader, cancellation in
            var (writer, clock) = (formerWriter, formerClock)
            let page = try pages.page(
                from: start, limit: limit, writer: &writer, clock: &clock, reader, cancellation)
            return (page, writer, clock)
        }
        writer = used
        clock = read
        var bytes: [UInt8] = []
        if !hasBegun { bytes += edge { $0.begin(into: &$1) } }
        hasBegun = true
        bytes += page.bytes
        remaining -= page.rows
        samples += page.samples
        summarised += page.summarised
        if let next = page.next, remaining > 0 {
            position = next
            return bytes
        }
        isComplete = true
        // The document must show that rows are missing, and where they start.
        if query.format == .json {
            let next = page.next.map { clock?.time($0, of: query.device) ?? $0 }
            let source = RowSource(samples: samples, summarised: summarised)
            bytes +=
                "],\"source\":\"\(source.name)\",\"next\":\(next.map { "\($0.microseconds)" } ?? "null")}\n".utf8
        } else {
            bytes += edge { $0.end(into: &$1) }
        }
        return bytes
    }

    private mutating func edge(_ write: (inout any RowWriter, inout OutputBuffer) -> Void) -> [UInt8] {
        var output = OutputBuffer()
        write(&writer, &output)
        return output.bytes
    }
}
