import FoundationEssentials
import LockstepModel
import LockstepRules
import LockstepWire

/// Returns the text.
/// - Throws: ``CommandFailure`` if a word in braces is not one of the placeholders.
func checkPlaceholders(_ text: String, _ known: [String]) throws -> String {
    for part in text.split(separator: "{", omittingEmptySubsequences: false).dropFirst() {
        guard let end = part.firstIndex(of: "}") else { continue }
        let word = part[..<end]
        // Other text in braces, such as JSON, is left alone.
        guard word.contains(where: \.isLetter), word.allSatisfy({ $0.isLetter || $0.isNumber || " _-".contains($0) }),
            !known.contains(String(word))
        else { continue }
        throw CommandFailure(
            "'{\(word)}' is not a placeholder; use \(known.map { "{\($0)}" }.joined(separator: ", "))")
    }
    return text
}

extension RuleFileReader {
    static let wayKinds = ["mqtt", "webhook", "ntfy", "mail", "command", "record"]

    mutating func readTargets(_ node: YAMLNode) throws {
        let fields = try Fields(node, "'targets'", file: file)
        for (name, node, _) in fields.entries {
            try check(name, fields)
            let ways = try ways(node, name)
            set.ways.merge(ways) { $1 }
            targets[name] = ways.keys.sorted()
        }
    }

    /// Returns the ways of a target by their names: one for each recipient of a mail, else one with the name of the target.
    private func ways(_ node: YAMLNode, _ name: String) throws -> [String: Way] {
        let fields = try Fields(node, "target '\(name)'", file: file)
        let found = Self.wayKinds.filter(fields.has)
        guard found.count == 1, let kind = found.first else {
            throw fields.failure("has to have exactly one of the keys \(Self.wayKinds.joined(separator: ", "))")
        }
        switch kind {
        case "mqtt":
            guard try fields.text("mqtt") == "event" else {
                throw fields.failure("mqtt", "expects 'event', the last level of the topic")
            }
            let isRetained = try fields.value("retain", boolean) ?? false
            try fields.checkKeys(["mqtt", "retain"])
            return [name: .mqtt(isRetained: isRetained)]
        case "webhook":
            let url = try fields.value("webhook", webAddress) ?? ""
            let secret = try fields.secret("secret-file")
            try fields.checkKeys(["webhook", "secret-file"])
            return [name: .webhook(url: url, secret: secret)]
        case "ntfy":
            let url = try fields.value("ntfy", webAddress) ?? ""
            let token = try fields.secret("token-file")
            let priority = try fields.value("priority") { text in
                guard ["min", "low", "default", "high", "max"].contains(text) else {
                    throw CommandFailure("'\(text)' is not a priority; use min, low, default, high or max")
                }
                return text
            }
            try fields.checkKeys(["ntfy", "token-file", "priority"])
            return [name: .ntfy(url: url, token: token, priority: priority)]
        case "mail":
            let url = try fields.value("mail") { text in
                guard text.hasPrefix("smtp://") || text.hasPrefix("smtps://"), isPlain(text) else {
                    throw CommandFailure("'\(text)' is not a mail server; write it as smtps://mail.example.org:465")
                }
                return text
            }
            let from = try address(fields.required("from", "lockstep@example.org"), "from", fields)
            let recipients = try fields.texts("to").map { try address($0, "to", fields) }
            let user = try fields.text("user")
            let password = try fields.secret("password-file")
            guard !recipients.isEmpty else { throw fields.failure("has no 'to': add the recipients") }
            try fields.checkKeys(["mail", "from", "to", "user", "password-file"])
            let ways = recipients.map { recipient in
                let mail = Way.Mail(
                    url: url ?? "", from: from, to: recipients, recipient: recipient, user: user, password: password)
                return ("\(name)/\(recipient)", Way.mail(mail))
            }
            return Dictionary(ways) { first, _ in first }
        case "record": return [name: .record(try record(fields, name))]
        default:
            let arguments = try fields.texts("command")
            guard arguments[0].hasPrefix("/") else {
                throw fields.failure("command", "expects the full path of a program, and its arguments as a list")
            }
            try fields.checkKeys(["command"])
            return [name: .command(arguments)]
        }
    }

    private func record(_ fields: Fields, _ name: String) throws -> RecordAction {
        let kind = try fields.text("record")
        let session = try fields.value("session") { try checkPlaceholders($0, RecordAction.placeholders) }
        if kind == "mark" {
            try fields.checkKeys(["record", "session"])
            return .mark(session: session)
        }
        guard kind == "start" || kind == "stop" else { throw fields.failure("record", "expects start, mark or stop") }
        guard let session else {
            throw fields.failure("has no 'session': add the name of the session, such as 'session: walk of {device}'")
        }
        if kind == "stop" {
            try fields.checkKeys(["record", "session"])
            return .stop(session: session)
        }
        var start = RecordAction.Start(session: session)
        start.before = try fields.value("before", parseDuration) ?? 0
        start.length = try fields.value("for", parseDuration)
        if let devices = try fields.text("devices") {
            guard devices == "group" else {
                throw fields.failure("devices", "expects 'group', for all devices of the group; leave it out for one")
            }
            start.includesGroup = true
        }
        for (stream, text) in try pairs("rates", of: fields, name) {
            guard streams.stream(named: stream)?.name == stream else {
                throw fields.failure("rates", streams.unknownStreamMessage(for: stream))
            }
            guard let rate = Double(text), RateLease.validRates.contains(rate) else {
                throw fields.failure("rates", "'\(text)' is not a rate in Hz from 0.001 to 10000")
            }
            start.rates[stream] = rate
        }
        for (label, text) in try pairs("labels", of: fields, name) { start.labels[label] = text }
        try fields.checkKeys(["record", "session", "before", "for", "devices", "rates", "labels"])
        try check(start, fields)
        return .start(start)
    }

    /// Checks the limits of a request to start.
    private func check(_ start: RecordAction.Start, _ fields: Fields) throws {
        let key = RecordingSession.Key(group: .standard, id: SessionID.named(start.session) { _ in false })
        var session = RecordingSession(key: key, name: start.session, created: Timestamp(microseconds: 0))
        (session.length, session.rates, session.labels) = (start.length, start.rates, start.labels)
        // The device is that of the event.
        session.includesGroup = true
        let payload = Data(SessionJSON.encode(.start(session)))
        do {
            _ = try SessionJSON.decode(.start, payload, of: key, at: session.created, streams: streams)
        } catch {
            throw fields.failure("cannot start a session: \(error)")
        }
    }

    /// Returns the keys and texts of a mapping in a target.
    private func pairs(_ key: String, of fields: Fields, _ name: String) throws -> [(String, String)] {
        guard let node = fields.node(key) else { return [] }
        let mapping = try Fields(node, "'\(key)' of target '\(name)'", file: file)
        return try mapping.entries.map { ($0.key, try mapping.text($0.key) ?? "") }
    }

    private func address(_ text: String, _ key: String, _ fields: Fields) throws -> String {
        guard isPlain(text), text.contains("@"), !text.contains("<"), !text.contains(">") else {
            throw fields.failure(key, "'\(text)' is not a mail address")
        }
        return text
    }
}

private func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }

private func webAddress(_ text: String) throws -> String {
    guard text.hasPrefix("http://") || text.hasPrefix("https://"), isPlain(text) else {
        throw CommandFailure("'\(text)' is not a web address; it starts with https:// or http://")
    }
    return text
}
