import FoundationEssentials
import Hummingbird
import LockstepHTTP
import LockstepLive
import LockstepModel
import LockstepStore
import LockstepWire
import Logging

/// Deletion of samples of a device. The collector carries it out: the server only reads the store.
///
/// `POST /api/v1/devices/{group}/{device}/deletions`, with the right to operate, takes
/// `{"from":1700000000000000,"to":1700000060000000,"stream":"location","reason":"wrong fix","secure":false,"dry_run":true}`.
/// `from` (inclusive) and `to` (exclusive) are in µs since 1970; a missing `from` or `to` stands for no limit, but at least
/// one of them, or `"all":true`, must be there. Without `stream`, all streams are meant. The answer is
///
/// - with `dry_run`, 200 and `{"samples":12,"from":…,"to":…,"days":[{"stream":"location","count":12,"first":…,"last":…}]}`,
/// - otherwise, 202 and the same with the member `id` of the deletion, which the broker has accepted.
///
/// `GET` of the same path lists the deletions of the device: `{"deletions":[{"id":…,"stream":null,"from":…,"to":…,"at":…,
/// "who":…,"reason":…,"secure":false,"count":12,"refused":0,"done":…}]}`; `done` is null until all is deleted.
struct DeletionRoutes {
    let feed: LiveFeed
    let history: HistoryRoutes
    let root: TopicRoot
    let logger: Logger

    private static let path = "/api/v1/devices/{group}/{device}/deletions"

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(Route("GET", Self.path, right: .read)) { call in
            let address = try call.device()
            try await history.checkExists(address)
            let deletions = try await history.store.read { reader, _ in try reader.deletions(of: address) }
            return Response(json: Self.json(of: deletions))
        }
        routes.add(Route("POST", Self.path, right: .operate)) { call in
            let address = try call.device()
            let body: DeletionBody
            do { body = try DeletionBody(Data(await call.jsonBody())) } catch let error as PayloadError {
                throw Problem.badRequest("the body is not a deletion: \(error)")
            }
            try await history.checkExists(address)
            let client: String? = call.memory.client.address
            let deletion = Deletion(
                id: "\(Epoch.random())", device: address,
                stream: try await body.stream.asyncMap { try await history.stream(named: $0).name },
                times: body.times(now: Moment.now().wall), at: Moment.now().wall,
                who: client.map { "web \($0)" } ?? "web", reason: body.reason, isSecure: body.isSecure)
            let days = try await history.store.read { reader, cancellation in
                try reader.preview(of: deletion, until: cancellation)
            }
            guard !body.isPreview else { return Response(json: Self.json(of: days, deletion, id: nil)) }
            do {
                try await feed.requests.publish(
                    DeletionJSON.encode(deletion), to: root.topic(address, .delete))
            } catch let error as CommandError { throw CommandRoutes.problem(error) }
            logger.info(
                "deletion requested",
                metadata: [
                    "device": "\(address)", "stream": "\(deletion.stream ?? "all")",
                    "from": "\(deletion.times.lowerBound)", "to": "\(deletion.times.upperBound)",
                    "client": "\(client ?? "?")",
                ])
            var response = Response(json: Self.json(of: days, deletion, id: deletion.id))
            response.status = .accepted
            return response
        }
    }

    private static func json(of days: [DeletionDay], _ deletion: Deletion, id: String?) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("id", ifPresent: id)
        object.member("samples", days.reduce(0) { $0 + $1.count })
        object.member("from", deletion.times.lowerBound)
        object.member("to", deletion.times.upperBound)
        object.member("days", days) { writer, day in
            writer.object { object in
                object.member("stream", day.stream)
                object.member("count", day.count)
                object.member("first", day.first.microseconds)
                object.member("last", day.last.microseconds)
            }
        }
        return object.finish()
    }

    private static func json(of deletions: [StoredDeletion]) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("deletions", deletions) { writer, stored in
            writer.object { object in
                object.member("id", stored.deletion.id)
                object.member("stream", orNull: stored.deletion.stream)
                object.member("from", stored.deletion.times.lowerBound)
                object.member("to", stored.deletion.times.upperBound)
                object.member("at", stored.deletion.at.microseconds)
                object.member("who", orNull: stored.deletion.who)
                object.member("reason", orNull: stored.deletion.reason)
                object.member("secure", stored.deletion.isSecure)
                object.member("count", stored.count)
                object.member("refused", stored.refused)
                object.member("done", orNull: stored.done?.microseconds)
            }
        }
        return object.finish()
    }
}

extension Optional {
    /// Like `map`, with an asynchronous function.
    fileprivate func asyncMap<Result>(_ body: (Wrapped) async throws -> Result) async rethrows -> Result? {
        switch self {
        case .none: nil
        case .some(let value): try await body(value)
        }
    }
}
