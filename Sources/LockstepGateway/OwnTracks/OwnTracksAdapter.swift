import CSodium
import FoundationEssentials
import LockstepModel

/// Translates the messages of the OwnTracks apps, which arrive over MQTT or HTTP.
///
/// The format: <https://owntracks.org/booklet/tech/json/>. Topics: `{base}/{user}/{device}` and one more level.
public struct OwnTracksAdapter: GatewayAdapter {
    static let formatName = "owntracks"
    /// The name of the format.
    public let name = OwnTracksAdapter.formatName
    /// The HTTP path.
    public let path: String? = "/owntracks"

    private let base: String
    private let keys: OwnTracksKeys

    /// Creates an adapter.
    /// - Parameters:
    ///   - base: the topic levels before the user.
    ///   - keys: the secrets of senders who encrypt.
    public init(base: String = "owntracks", keys: OwnTracksKeys = OwnTracksKeys()) {
        self.base = base
        self.keys = keys
    }

    /// The topics of devices, without and with a last level such as `event`.
    public var topicFilters: [String] { ["\(base)/+/+", "\(base)/+/+/+"] }

    /// The last levels of topics that are not for the gateway: commands to a device, cards and dumps.
    private static let ignoredLevels: Set<String> = ["cmd", "info", "dump", "beacon"]

    /// Translates a message.
    public func translate(_ message: ForeignMessage) throws(Refusal) -> Translation {
        // An empty message deletes a retained one. Some apps send it by HTTP, too.
        guard !message.payload.isEmpty else { return Translation() }
        if let last = lastLevel(of: message), Self.ignoredLevels.contains(last) { return Translation() }
        var content = try ForeignJSON.parse(message.payload)
        let sender = try sender(of: message, content)
        let key = keys.key(user: sender.parts[0], device: sender.parts[1])
        if content["_type"]?.string == "encrypted" {
            content = try decrypt(content, key: key, sender: sender)
        } else if key != nil, content["_type"]?.string != "lwt" {
            // The broker sends an lwt, which need not be encrypted. Anything else could be forged.
            throw Refusal(.undecryptable, "'\(sender)' has a secret, but the message is not encrypted")
        }
        let messages = content.array ?? [content]
        var report = ForeignReport(sender: sender)
        var refusal: Refusal?
        for item in messages {
            do {
                try OwnTracksMessage(item, isRetained: message.isRetained, receivedAt: message.receivedAt).add(
                    to: &report)
            } catch { refusal = refusal ?? error }
        }
        // Of a list, the other messages count. Without any, nothing of the message can be used.
        if let refusal {
            guard !report.readings.isEmpty || report.presence != nil else { throw refusal }
            report.omissions.append(refusal.description)
        }
        if report.readings.isEmpty, report.presence == nil, let first = report.omissions.first {
            throw Refusal(.malformed, first)
        }
        let topic = "\(base)/\(sender.parts[0])/\(sender.parts[1])"
        report.shared = messages.compactMap { OwnTracksFriend.message(of: $0, topic: topic) }.last
        return Translation([report])
    }

    /// Answers an array: the apps expect one, and after any other status than 2xx they send the same message for ever
    /// and nothing else. So a message that can never be accepted is answered in the same way. The gateway logs it. One that may
    /// be accepted later stays with the app.
    public func answer(to outcome: RequestOutcome) -> HTTPAnswer {
        switch outcome {
        case .accepted(let receipt): Self.array(receipt.friends)
        case .refused(let refusal) where refusal.kind == .tooManyDevices: HTTPAnswer(status: refusal.kind.status)
        case .refused: Self.array([])
        case .unavailable: HTTPAnswer(status: 503)
        }
    }

    private static func array(_ messages: [[UInt8]]) -> HTTPAnswer {
        let body = [UInt8(ascii: "[")] + messages.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
        return HTTPAnswer(status: 200, contentType: "application/json", body: Array(body))
    }

    private func lastLevel(of message: ForeignMessage) -> String? {
        guard let levels = message.topicLevels else { return nil }
        let count = base.split(separator: "/").count + 2
        return levels.count > count ? levels[count] : nil
    }

    /// Returns user and device: from the topic; for HTTP from the parameters, the headers, or the topic in the message.
    private func sender(of message: ForeignMessage, _ content: JSONValue) throws(Refusal) -> ForeignName {
        var user: String?
        var device: String?
        switch message.origin {
        case .topic(let topic): (user, device) = names(in: topic)
        case .request(let facts):
            let claimed = content["topic"]?.string.map(names)
            user = facts.user ?? facts.query["u"] ?? facts.headers["x-limit-u"] ?? claimed?.user
            device = facts.query["d"] ?? facts.headers["x-limit-d"] ?? claimed?.device
        }
        guard let user, !user.isEmpty, let device, !device.isEmpty else {
            throw Refusal(.unknownSender, "the message names no user and device: set both in the app")
        }
        return ForeignName(name, [user, device])
    }

    private func names(in topic: String) -> (user: String?, device: String?) {
        guard topic.hasPrefix(base + "/") else { return (nil, nil) }
        let levels = topic.dropFirst(base.count + 1).split(separator: "/", omittingEmptySubsequences: false)
        return levels.count >= 2 ? (String(levels[0]), String(levels[1])) : (nil, nil)
    }

    private func decrypt(_ content: JSONValue, key: [UInt8]?, sender: ForeignName) throws(Refusal) -> JSONValue {
        guard let key else {
            throw Refusal(.undecryptable, "the message of '\(sender)' is encrypted: add its secret to the key file")
        }
        guard let data = content["data"]?.string.flatMap({ Data(base64Encoded: $0) }) else {
            throw Refusal(.malformed, "'data' of the encrypted message is not Base64")
        }
        guard let text = OwnTracksKeys.open(Array(data), key: key) else {
            throw Refusal(.undecryptable, "the message of '\(sender)' is encrypted with another secret")
        }
        let inner = try ForeignJSON.parse(text)
        guard inner["_type"]?.string != "encrypted" else {
            throw Refusal(.malformed, "the message is encrypted twice")
        }
        return inner
    }
}

/// The secrets of OwnTracks senders who encrypt their messages.
public struct OwnTracksKeys: Sendable {
    /// The secrets, zero-padded to 32 bytes, by `USER/DEVICE`, `USER` or `*`.
    private var keys: [String: [UInt8]] = [:]

    /// Creates an empty set.
    public init() {}

    /// Adds the secret of a sender.
    /// - Parameters:
    ///   - secret: the secret as typed into the app: 1 to 32 bytes of UTF-8.
    ///   - name: `USER/DEVICE`; `USER` for all devices of a user; `*` for all users.
    /// - Returns: whether the secret has a valid length.
    public mutating func add(_ secret: String, for name: String) -> Bool {
        let bytes = Array(secret.utf8)
        guard (1...Int(crypto_secretbox_KEYBYTES)).contains(bytes.count) else { return false }
        keys[name] = bytes + Array(repeating: 0, count: Int(crypto_secretbox_KEYBYTES) - bytes.count)
        return true
    }

    /// Reads the lines of a key file: a name, a space and the secret. Empty lines and lines with `#` are comments.
    /// - Throws: ``Refusal`` with the number of an invalid line. It never quotes the line.
    public init(lines: String) throws(Refusal) {
        for (index, line) in lines.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard let first = line.first, first != "#", line.contains(where: { !$0.isWhitespace }) else { continue }
            let parts = line.split(maxSplits: 1, whereSeparator: \.isWhitespace)
            guard parts.count == 2, add(String(parts[1]), for: String(parts[0])) else {
                throw Refusal(
                    .malformed,
                    "line \(index + 1): use 'USER/DEVICE SECRET', 'USER SECRET' or '* SECRET' with 1 to 32 bytes")
            }
        }
    }

    /// Returns the key of a device, or nil if it does not encrypt.
    func key(user: String, device: String) -> [UInt8]? { keys["\(user)/\(device)"] ?? keys[user] ?? keys["*"] }

    /// Decrypts a nonce of 24 bytes that is followed by the encrypted text (libsodium's secretbox).
    /// - Returns: nil if the data was not encrypted with this key.
    static func open(_ data: [UInt8], key: [UInt8]) -> [UInt8]? {
        let nonce = Int(crypto_secretbox_NONCEBYTES)
        let overhead = nonce + Int(crypto_secretbox_MACBYTES)
        guard data.count >= overhead, key.count == Int(crypto_secretbox_KEYBYTES), sodium_init() >= 0 else {
            return nil
        }
        var text = [UInt8](repeating: 0, count: data.count - overhead)
        let status = data.withUnsafeBufferPointer { bytes -> Int32 in
            guard let base = bytes.baseAddress else { return -1 }
            // The address of an empty array may be nil, but libsodium needs one.
            return text.withUnsafeMutableBufferPointer { output in
                var empty: UInt8 = 0
                return withUnsafeMutablePointer(to: &empty) { spare in
                    crypto_secretbox_open_easy(
                        output.baseAddress ?? spare, base + nonce, UInt64(data.count - nonce), base, key)
                }
            }
        }
        return status == 0 ? text : nil
    }
}
