import HummingbirdCore
import LockstepHTTP
import NIOCore

/// The memory for the answers to one client: a part of what the server uses for all clients.
///
/// Each answer, page of rows or group of events above ``smallBytes`` has a reservation until the client has taken it.
/// Long answers may use only a part of the budget, so that clients which read them slowly leave room for the other answers.
struct AnswerMemory: Sendable {
    /// The size up to which an answer needs no reservation, in bytes: connections and event streams have limits of their
    /// own.
    static let smallBytes = 16 << 10
    /// The size of the parts of a page that are written at once, in bytes.
    private static let partBytes = 64 << 10
    /// The number of rows of a page while there is plenty of room.
    static let largePageRows = 10_000
    /// The number of rows of a page while there is little room: many slow clients have one page each.
    static let smallPageRows = 500
    /// The part of the budget that answers may use which need no token, such as the files of the page: strangers leave
    /// room for those who have one.
    private static let publicPart = 0.5
    /// The parts of the budget that pages of rows may use.
    private static let (largePagePart, smallPagePart) = (0.5, 0.75)
    /// The time between two attempts to get room.
    private static let retryInterval = Duration.milliseconds(50)

    let budget: MemoryBudget
    let client: Client
    let channel: any Channel

    /// Room for a page of rows.
    struct Page: Sendable {
        /// The maximum number of rows.
        let rows: Int
        let reservation: MemoryBudget.Reservation
    }

    /// The answer if there is no room.
    static let problem = Problem.unavailable(
        "too many answers wait for their clients to read them: read yours faster, or try again later")

    /// Reserves room for a page, or returns nil if there is none.
    func page(of query: StreamQuery) -> Page? {
        let bytes = query.estimatedBytesOfRow
        // An envelope cannot be divided into pages.
        if let rows = query.unpagedRows {
            return reserve(bytes * rows, part: 1).map { Page(rows: rows, reservation: $0) }
        }
        for (rows, part) in [
            (Self.largePageRows, Self.largePagePart), (Self.smallPageRows, Self.smallPagePart),
        ] {
            if let room = reserve(bytes * min(rows, query.limit ?? rows), part: part) {
                return Page(rows: rows, reservation: room)
            }
        }
        return nil
    }

    /// Reserves room for a page as soon as there is some.
    func nextPage(of query: StreamQuery) async throws -> Page {
        while true {
            if let page = page(of: query) { return page }
            try await Task.sleep(for: Self.retryInterval)
        }
    }

    /// Writes a buffer as soon as there is room for it, and waits until the client has taken it.
    func write(_ buffer: ByteBuffer, to writer: inout any ResponseBodyWriter) async throws {
        guard buffer.readableBytes > Self.smallBytes else {
            try await writer.write(buffer)
            return
        }
        var reservation = reserve(buffer.readableBytes, part: 1)
        while reservation == nil {
            try await Task.sleep(for: Self.retryInterval)
            reservation = reserve(buffer.readableBytes, part: 1)
        }
        try await writer.write(buffer)
        try await UnsentBytes.untilTaken(channel)
        withExtendedLifetime(reservation) {}
    }

    /// Writes a buffer in parts, each as soon as the client has taken most of the previous ones, so that a slow client is
    /// seen to make progress.
    func writeParts(of buffer: ByteBuffer, to writer: inout any ResponseBodyWriter) async throws {
        var rest = buffer
        while let part = rest.readSlice(length: min(Self.partBytes, rest.readableBytes)), part.readableBytes > 0 {
            try await writer.write(part)
        }
    }

    /// Returns an answer that has a reservation until the client has taken it, or a problem if there is no room for it.
    /// - Parameter isPublic: whether the answer needs no token.
    func hold(_ response: Response, isPublic: Bool = false) -> Response {
        guard let length = response.body.contentLength, length > Self.smallBytes else { return response }
        guard let reservation = reserve(length, part: isPublic ? Self.publicPart : 1) else {
            return Response(Self.problem)
        }
        var held = response
        let (body, channel) = (response.body, channel)
        held.body = ResponseBody(contentLength: length) { writer in
            try await body.write(writer)
            try await UnsentBytes.untilTaken(channel)
            withExtendedLifetime(reservation) {}
        }
        return held
    }

    private func reserve(_ bytes: Int, part: Double) -> MemoryBudget.Reservation? {
        budget.reserve(bytes, for: client.limitKey, part: part)
    }
}

extension StreamQuery {
    /// The size of a row in bytes, approximately.
    fileprivate var estimatedBytesOfRow: Int { 50 + 20 * exportColumns.count }

    /// The maximum number of rows of a query whose rows are not read in pages; nil for one with pages.
    fileprivate var unpagedRows: Int? {
        switch kind {
        case .samples, .averages: nil
        case .envelope(let points), .thinned(let points): points
        }
    }
}
