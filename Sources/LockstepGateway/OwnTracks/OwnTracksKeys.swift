import CSodium

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
