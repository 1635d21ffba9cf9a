import CSodium
import Glibc
import LockstepModel
import LockstepRules
import LockstepStore
import LockstepWire

/// Returns the lower-case hexadecimal HMAC-SHA256 of a body.
package func signature(of body: [UInt8], secret: String) -> String {
    var state = crypto_auth_hmacsha256_state()
    let key = Array(secret.utf8)
    var digest = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_bytes()))
    crypto_auth_hmacsha256_init(&state, key, key.count)
    crypto_auth_hmacsha256_update(&state, body, UInt64(body.count))
    crypto_auth_hmacsha256_final(&state, &digest)
    return digest.hexadecimal
}

/// Sends one notification by a way other than MQTT.
func send(_ event: StoredEvent, by way: Way) -> Transfer.Outcome {
    switch way {
    case .mqtt, .record: return .refused("the collector does this itself")
    case .webhook(let url, let secret):
        let body = EventJSON.encode(event)
        var headers = ["Content-Type: application/json", "Lockstep-Event: \(event.id)"]
        if let secret { headers.append("Lockstep-Signature: sha256=\(signature(of: body, secret: secret))") }
        return Transfer.post(body, to: url, headers: headers)
    case .ntfy(let url, let token, let priority):
        return Transfer.post(
            Array(event.text.utf8), to: url, headers: ntfyHeaders(event, token: token, priority: priority))
    case .mail(let mail):
        return Transfer.mail(
            mailText(event, mail), url: mail.url, from: mail.from, to: mail.recipient, user: mail.user,
            password: mail.password)
    case .command(let arguments):
        return runCommand([arguments[0]] + arguments.dropFirst().map { fill($0, event) })
    }
}

/// - Parameter priority: that of the target, or nil for that of the rule's severity.
func ntfyHeaders(_ event: StoredEvent, token: String?, priority: String?) -> [String] {
    var headers = ["Title: \(headerText(event.rule))", "Content-Type: text/plain; charset=utf-8"]
    if let priority = priority ?? event.severity.priority { headers.append("Priority: \(priority)") }
    if let token { headers.append("Authorization: Bearer \(headerText(token))") }
    return headers
}

extension Severity {
    /// The priority of a notification by ntfy; nil for its default.
    fileprivate var priority: String? {
        switch self {
        case .info: "low"
        case .warning: nil
        case .critical: "urgent"
        }
    }
}

/// Replaces the placeholders in an argument.
///
/// A text that begins with `-` must not become an option: it gets a space in front, unless the argument itself begins so.
func fill(_ argument: String, _ event: StoredEvent) -> String {
    // Not repeatedly: a text that contains a placeholder must not be filled again.
    var result = ""
    var rest = argument[...]
    let values = [
        "{message}": event.text, "{rule}": event.rule, "{id}": "\(event.id)",
        "{device}": event.device?.description ?? "collector", "{time}": "\(event.time)",
        "{value}": event.value.map(shortNumber) ?? "",
    ]
    while let open = rest.firstIndex(of: "{") {
        result += rest[..<open]
        rest = rest[open...]
        if let value = values.first(where: { rest.hasPrefix($0.key) }) {
            result += value.value
            rest = rest.dropFirst(value.key.count)
        } else {
            result.append(rest.removeFirst())
        }
    }
    result = (result + rest).replacing("\0", with: "")
    return result.hasPrefix("-") && !argument.hasPrefix("-") ? " " + result : result
}

/// Returns a text without characters that end a header.
private func headerText(_ text: String) -> String {
    String(decoding: text.utf8.filter { $0 >= 0x20 && $0 != 0x7F }, as: UTF8.self)
}

/// Returns an e-mail in UTF-8 with its headers (RFC 5322).
func mailText(_ event: StoredEvent, _ mail: Way.Mail) -> [UInt8] {
    let subject = "Lockstep: \(headerText(event.rule)) \(event.device?.description ?? "collector")"
    let lines = event.text.split(omittingEmptySubsequences: false) { $0.isNewline }
    let text =
        [
            "From: <\(mail.from)>", "To: \(mail.to.map { "<\($0)>" }.joined(separator: ", "))", "Subject: \(subject)",
            "Message-ID: <lockstep-\(event.id)-\(event.time.microseconds)@\(domain(of: mail.from))>",
            "Date: \(mailDate(event.at))", "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: 8bit", "",
        ] + lines.map(String.init)
        + [
            "", "Time: \(event.time.short(at: event.at))\(event.isLate ? " (arrived late)" : "")", "Event: \(event.id)",
            "",
        ]
    return Array(text.joined(separator: "\r\n").utf8)
}

private func domain(of address: String) -> Substring {
    address.lastIndex(of: "@").map { address[address.index(after: $0)...] } ?? "localhost"
}

/// Returns a time as mail headers have it: `25 Nov 2026 09:30:00 +0000`.
private func mailDate(_ time: Timestamp) -> String {
    let text = Array(time.description)
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let month = Int(String(text[5...6])).flatMap { names.indices.contains($0 - 1) ? names[$0 - 1] : nil } ?? "Jan"
    return "\(String(text[8...9])) \(month) \(String(text[0...3])) \(String(text[11...18])) +0000"
}

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

/// Runs a program with its arguments, without a shell.
func runCommand(_ arguments: [String], within limit: Duration = .seconds(10)) -> Transfer.Outcome {
    var attributes = posix_spawnattr_t()
    var actions = posix_spawn_file_actions_t()
    posix_spawnattr_init(&attributes)
    posix_spawn_file_actions_init(&actions)
    defer {
        posix_spawnattr_destroy(&attributes)
        posix_spawn_file_actions_destroy(&actions)
    }
    // The threads of Dispatch block signals. A program that inherits that cannot be ended.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    let texts: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for text in texts { free(text) } }
    var pid: pid_t = 0
    let code = posix_spawn(&pid, arguments[0], &actions, &attributes, texts, environ)
    guard code == 0 else { return .failed("cannot run \(arguments[0]): \(String(cString: strerror(code)))") }
    let deadline = ContinuousClock.now + limit
    var status: Int32 = 0
    while waitpid(pid, &status, WNOHANG) == 0 {
        guard ContinuousClock.now < deadline else {
            kill(pid, SIGKILL)
            waitpid(pid, &status, 0)
            return .failed("\(arguments[0]) did not end within \(limit)")
        }
        usleep(10_000)
    }
    let isSuccess = status == 0
    return isSuccess ? .success : .failed("\(arguments[0]) ended with the status \(status >> 8 & 0xFF)")
}
