import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdCore
import LockstepExport
import LockstepHTTP
import LockstepLive
import LockstepModel
import LockstepStore
import LockstepWire
import Logging

/// Sessions, which are recordings of several devices: their list, requests about them, and their files.
///
/// States come from the store and from the live picture, which also has the rates that arrive. Requests are messages to the
/// collector, as those of `lockstep record`.
struct RecordingRoutes {
    let feed: LiveFeed
    let store: StorePool
    let knownStreams: KnownStreams
    let root: TopicRoot
    /// The program that files name as their creator.
    let creator: String
    let logger: Logger

    private static let path = "/api/v1/sessions"
    private static let maxListed = 10_000
    /// The maximum number of gaps of each stream that are listed.
    private static let maxGaps = 1000
    /// The reading of all samples of a session keeps a thread of the store busy.
    private static let reads = ConnectionCounter(maximum: 2)
    /// Each export keeps a thread of the store busy and a file until it is sent.
    private static let exports = ConnectionCounter(maximum: 2)

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(Route("GET", Self.path, right: .read, parameters: ["group", "search", "limit"])) { call in
            let group = try call.group()
            let search = call.query.all("search").first ?? ""
            guard search.utf8.count <= 200 else { throw Problem.badRequest("search: at most 200 bytes") }
            let limit = try call.query.number("limit", in: 1...Self.maxListed) ?? 200
            let found = try await sessions().values
                .filter { (group ?? $0.key.group) == $0.key.group && $0.matches(search) }
                .sorted { ($1.created, $0.key.id.rawValue) < ($0.created, $1.key.id.rawValue) }
            return Response(json: Self.json(of: found.prefix(limit), isCut: found.count > limit))
        }
        routes.add(Route("GET", Self.path + "/{group}/{id}", right: .read, parameters: ["gaps"])) { call in
            let session = try await session(call)
            let findsGaps = try call.query.value("gaps", parse: Self.yesOrNo) ?? false
            let streams = findsGaps ? try await series(of: session) : nil
            return Response(json: SessionJSON.encodeWithKey(session, streams: streams))
        }
        routes.add(Route("GET", Self.path + "/{group}/{id}/export", right: .read, parameters: ["format"])) { call in
            try await export(call)
        }
        routes.add(Route("POST", Self.path + "/{group}", right: .operate)) { call in
            let group = try Self.group(call)
            let body = try await call.jsonBody()
            let request = try decode(
                .start, body, of: RecordingSession.Key(group: group, id: SessionID(unchecked: "")))
            guard case .start(let session) = request else { throw Problem.badRequest("the body is not a session") }
            let known = try await sessions()
            let id = SessionID.named(session.name) { known[.init(group: group, id: $0)] != nil }
            return try await send(.start, body, to: RecordingSession.Key(group: group, id: id), call)
        }
        for verb in SessionRequest.Verb.allCases where verb != .start {
            routes.add(Route("POST", Self.path + "/{group}/{id}/\(verb.rawValue)", right: .operate)) { call in
                let key = try await session(call).key
                let body = [.mark, .edit, .split].contains(verb) ? try await call.jsonBody() : Array("{}".utf8)
                _ = try decode(verb, body, of: key)
                return try await send(verb, body, to: key, call)
            }
        }
    }

    // MARK: States

    /// Returns all sessions. One of the broker is newer than that of the store, and has the rates, but only the newest markers.
    private func sessions() async throws -> [RecordingSession.Key: RecordingSession] {
        let live = feed.picture.read { $0.sessions }
        guard store.hasStore else { return live }
        let stored: [RecordingSession]
        do { stored = try await store.read { reader, _ in try reader.sessions() } } catch let problem as Problem {
            if live.isEmpty { throw problem }
            return live
        }
        // Without a connection, what the broker has sent grows old.
        var sessions = feed.status.isConnected ? live : [:]
        for session in stored {
            guard var merged = sessions[session.key] else {
                sessions[session.key] = session
                continue
            }
            let newest = merged.markers
            merged.markers = session.markers
            for marker in newest where !merged.markers.contains(marker) { merged.add(marker) }
            sessions[session.key] = merged
        }
        return sessions
    }

    private func session(_ call: APICall) async throws -> RecordingSession {
        let key = RecordingSession.Key(
            group: try Self.group(call),
            id: try Self.name("id", call) { (text: String) in try SessionID(validating: text) })
        guard let session = try await sessions()[key] else {
            throw Problem.notFound("there is no session '\(key.id)' in the group '\(key.group)': GET \(Self.path)")
        }
        return session
    }

    private static func group(_ call: APICall) throws(Problem) -> GroupID {
        try name("group", call) { (text: String) in try GroupID(validating: text) }
    }

    private static func name<Value>(
        _ name: String, _ call: APICall, _ parse: (String) throws -> Value
    ) throws(Problem) -> Value {
        do { return try parse(call.path[name] ?? "") } catch { throw .badRequest("\(error)") }
    }

    private static func yesOrNo(_ text: String) throws -> Bool {
        guard let value = Bool(text) else {
            throw Problem.badRequest("gaps: '\(text.prefix(80))' is not one of true, false")
        }
        return value
    }

    private static func json(of sessions: some Sequence<RecordingSession>, isCut: Bool) -> [UInt8] {
        let list = sessions.map { SessionJSON.encodeWithKey($0, markers: []) }.joined(separator: Array(",".utf8))
        var json = Array("{\"sessions\":[".utf8)
        json += list
        json += Array("],\"is_cut\":\(isCut)}\n".utf8)
        return json
    }

    // MARK: Requests

    private func decode(
        _ verb: SessionRequest.Verb, _ body: [UInt8], of key: RecordingSession.Key
    ) throws(Problem) -> SessionRequest {
        // Anything else would be the text of a marker.
        guard body.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) == UInt8(ascii: "{") else {
            throw .badRequest("the body is not a JSON object")
        }
        do {
            return try SessionJSON.decode(
                verb, Data(body), of: key, at: Moment.now().wall, streams: knownStreams.catalog)
        } catch { throw .badRequest("the body is not a request to \(verb.rawValue): \(error)") }
    }

    /// Publishes a request. That a collector has carried it out is seen by the state of the session.
    private func send(
        _ verb: SessionRequest.Verb, _ body: [UInt8], to key: RecordingSession.Key, _ call: APICall
    ) async throws -> Response {
        do { try await feed.requests.publish(body, to: root.topic(key, verb)) } catch {
            throw CommandRoutes.problem(error)
        }
        logger.info(
            "session requested",
            metadata: [
                "session": "\(key.group)/\(key.id)", "request": "\(verb.rawValue)",
                "client": "\(call.memory.client.address)",
            ])
        var object = JSONObjectWriter()
        object.member("group", key.group.rawValue)
        object.member("id", key.id.rawValue)
        var response = Response(json: object.finish())
        response.status = .accepted
        return response
    }

    // MARK: Samples

    /// Reads what is stored of a session, and its gaps.
    private func series(of session: RecordingSession) async throws -> [RecordingSession.Series] {
        guard Self.reads.enter() else {
            throw Problem.unavailable("the samples of two sessions are being read: try again later")
        }
        defer { Self.reads.leave() }
        let series = try await store.read { reader, cancellation in
            try session.series(in: reader, now: Moment.now().wall) { cancellation.isCancelled }
        }
        return series.map { series in
            var series = series
            series.gaps = Array(series.gaps.prefix(Self.maxGaps))
            return series
        }
    }

    private func export(_ call: APICall) async throws -> Response {
        let format =
            try call.query.value("format") { text in
                guard let format = ExportFormat(rawValue: text), [.mcap, .xdf].contains(format) else {
                    throw Problem.badRequest("format: '\(text.prefix(80))' is not one of mcap, xdf")
                }
                return format
            } ?? .mcap
        let session = try await session(call)
        guard Self.exports.enter() else {
            throw Problem.unavailable("two sessions are being exported: try again later")
        }
        let file: UnnamedFile
        do { file = try UnnamedFile(onClose: { Self.exports.leave() }) } catch {
            Self.exports.leave()
            throw Problem.unavailable("\(error)")
        }
        let creator = creator
        do {
            try await store.read { reader, cancellation in
                let samples = try SessionSamples(session, in: reader, now: Moment.now().wall)
                let export = samples.export(samples.subject, format)
                let ranges = try export.timeRanges(of: session.addresses, in: reader)
                _ = try export.run(
                    ranges: ranges, in: reader, gap: 1, creator: creator, write: { try file.write($0) },
                    update: { _ in if cancellation.isCancelled { throw CancellationError() } })
            }
        } catch let error as SessionSamples.Nothing {
            throw Problem(status: 409, title: "Nothing to export", detail: error.description)
        } catch let error as UnnamedFile.Failure { throw Problem.unavailable(error.description) }
        var response = Response(
            status: .ok, headers: [.contentType: "application/octet-stream"], body: file.body(call))
        response.headers[.contentDisposition] = "attachment; filename=\"\(session.key.id).\(format.rawValue)\""
        return response
    }
}

extension RecordingSession {
    /// Whether each word of a text is part of the name, the group, the id, or a label such as `subject=7`.
    func matches(_ search: String) -> Bool {
        let texts = [name, key.group.rawValue, key.id.rawValue] + labels.map { "\($0.key)=\($0.value)" }
        return search.split(separator: " ").allSatisfy { word in
            texts.contains { $0.lowercased().contains(word.lowercased()) }
        }
    }
}
