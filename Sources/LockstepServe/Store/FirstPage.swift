import Synchronization

/// The first page of an answer, which the answer takes when it begins: otherwise it would keep the page until its end.
final class FirstPage: Sendable {
    private let content: Mutex<(RowStream, [UInt8], AnswerMemory.Page)?>

    init(_ state: RowStream, _ bytes: [UInt8], _ room: AnswerMemory.Page) { content = Mutex((state, bytes, room)) }

    func take() -> (RowStream, [UInt8], AnswerMemory.Page)? {
        content.withLock { content in
            defer { content = nil }
            return content
        }
    }
}
