/// Where a broker is and who asks: `mqtt[s]://[user[:password]@]host[:port]`.
public struct BrokerAddress: Hashable, Sendable {
    public var usesTLS: Bool
    public var host: String
    public var port: UInt16
    public var user: String?
    public var password: String?

    public init(host: String, port: UInt16, usesTLS: Bool = false, user: String? = nil, password: String? = nil) {
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
        self.user = user
        self.password = password
    }

    /// Reads an address. The port is 1883, with TLS 8883, unless given; `%40` and the like are decoded in user and
    /// password; an IPv6 address stands in brackets.
    /// - Throws: ``BrokerAddressError``, never with the password in its text.
    public init(_ text: String) throws(BrokerAddressError) {
        guard let scheme = text.firstRange(of: "://") else { throw BrokerAddressError("it has no mqtt:// in front") }
        switch text[..<scheme.lowerBound] {
        case "mqtt": usesTLS = false
        case "mqtts": usesTLS = true
        default: throw BrokerAddressError("it starts neither with mqtt:// nor with mqtts://")
        }
        var rest = text[scheme.upperBound...]
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        if let at = rest.lastIndex(of: "@") {
            let credentials = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let user = percentDecoded(credentials[0]), !user.isEmpty else {
                throw BrokerAddressError("its user name is empty or has a broken % code")
            }
            self.user = user
            if credentials.count == 2 {
                guard let password = percentDecoded(credentials[1]) else {
                    throw BrokerAddressError("its password has a broken % code (write % as %25)")
                }
                self.password = password
            }
            rest = rest[rest.index(after: at)...]
        }
        var port = usesTLS ? "8883" : "1883"
        if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
            host = String(rest[rest.index(after: rest.startIndex)..<end])
            let tail = rest[rest.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else { throw BrokerAddressError("after ']' comes only :port") }
            if !tail.isEmpty { port = String(tail.dropFirst()) }
        } else {
            let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2 else { throw BrokerAddressError("an IPv6 address stands in [ ]") }
            host = String(parts[0])
            if parts.count == 2 { port = String(parts[1]) }
        }
        guard !host.isEmpty, !host.contains(where: { $0 == "/" || $0.isWhitespace }) else {
            throw BrokerAddressError("it names no host")
        }
        guard let number = UInt16(port), number > 0 else { throw BrokerAddressError("its port is not 1 to 65535") }
        self.port = number
    }
}

extension BrokerAddress: CustomStringConvertible {
    /// The address without user and password: fit for logs.
    public var description: String {
        "\(usesTLS ? "mqtts" : "mqtt")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}

/// Why a text is no broker address.
public struct BrokerAddressError: Error, Hashable, CustomStringConvertible {
    let reason: String
    init(_ reason: String) { self.reason = reason }
    public var description: String {
        "not a broker address: \(reason); write mqtt[s]://[user[:password]@]host[:port]"
    }
}

private func percentDecoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%") {
            let digits = String(Substring(rest.prefix(2)))
            guard digits.count == 2, digits.allSatisfy(\.isHexDigit), let code = UInt8(digits, radix: 16) else {
                return nil
            }
            bytes.append(code)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return String(validating: bytes, as: UTF8.self)
}
