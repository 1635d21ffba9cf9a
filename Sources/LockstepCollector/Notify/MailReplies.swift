/// The replies of a mail server to the commands of one message (RFC 5321, section 4.2), of which the last refusal counts.
struct MailReplies {
    private static let maxLength = 300

    /// The lines of the current reply: `550-first line`, `550 last line`.
    private var lines: [String] = []
    /// The last reply with a code from 400 on, unless the server has accepted a later command.
    private(set) var refusal: (code: Int, text: String)?

    /// Adds a line of a reply.
    mutating func add(_ bytes: some Sequence<UInt8>) {
        let text = String(decoding: bytes.filter { $0 >= 0x20 && $0 != 0x7F }, as: UTF8.self)
        guard let code = Int(text.prefix(3)) else { return }
        lines.append(text)
        guard text.dropFirst(3).first != "-" else { return }
        defer { lines = [] }
        switch code {
        case 400...599:
            let parts = lines.enumerated().map { $0.offset == 0 ? $0.element : String($0.element.dropFirst(4)) }
            refusal = (code, String(parts.joined(separator: " ").prefix(Self.maxLength)))
        // The answer to QUIT, with which libcurl ends a failed session.
        case 221: break
        default: refusal = nil
        }
    }

    /// Returns what the refusal means for further attempts, or nil if nothing was refused.
    ///
    /// A code from 500 on is final: the same message would be refused again. A refused login is not, because it says
    /// nothing about the message.
    func outcome(isLogin: Bool) -> Transfer.Outcome? {
        guard let refusal else { return nil }
        let text = "the mail server answered: \(refusal.text)"
        return refusal.code >= 500 && !isLogin ? .refused(text) : .failed(text)
    }
}
