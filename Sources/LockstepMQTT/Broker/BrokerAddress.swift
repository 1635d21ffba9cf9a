import LockstepModel

/// The address of a broker with the user's credentials: `mqtt[s]://[user[:password]@]host[:port]`.
///
/// A broker that is a cluster has several addresses, separated by commas. ``BrokerLink`` uses the next one when a connection
/// fails.
///
/// Implemented here because Foundation's `URL` accepts addresses that are not valid here and gives no reason for an
/// error.
public struct BrokerAddress: Hashable, Sendable {
    /// Whether the connection uses TLS.
    public var usesTLS: Bool
    /// The host name or IP address, without brackets.
    public var host: String
    /// The TCP port.
    public var port: UInt16
    /// The user name; nil for an anonymous connection.
    public var user: String?
    /// The password, if any.
    public var password: String?
    /// A secret that is appended to the client ids of all connections; nil for none. A client that knows the id of another
    /// one can end its connection and take over its session, whatever its own user is.
    public var clientIDSecret: String?
    /// The addresses of the other nodes of a cluster, in the order in which they are tried. They have no further ones.
    public private(set) var otherNodes: [BrokerAddress] = []

    /// The addresses of all nodes, at least one.
    public var nodes: [BrokerAddress] {
        var first = self
        first.otherNodes = []
        return [first] + otherNodes
    }

    /// Calls `change` with the address of each node.
    public mutating func changeNodes(_ change: (inout BrokerAddress) -> Void) {
        for index in otherNodes.indices { change(&otherNodes[index]) }
        var first = nodes[0]
        change(&first)
        first.otherNodes = otherNodes
        self = first
    }

    /// Creates an address from its parts.
    public init(host: String, port: UInt16, usesTLS: Bool = false, user: String? = nil, password: String? = nil) {
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
        self.user = user
        self.password = password
    }

    /// Parses an address, or the addresses of the nodes of a cluster.
    ///
    /// The default port is 1883, or 8883 with TLS. User name and password may be percent-encoded. An IPv6 address must
    /// be in brackets.
    /// - Throws: ``BrokerAddressError`` if the text is not a valid address. The error never contains the password.
    public init(_ text: String) throws(BrokerAddressError) {
        var nodes: [BrokerAddress] = []
        for node in nodeTexts(text) { nodes.append(try BrokerAddress(node: node)) }
        guard nodes.allSatisfy({ $0.usesTLS == nodes[0].usesTLS }) else {
            throw BrokerAddressError("either all addresses use TLS or none")
        }
        self = nodes[0]
        otherNodes = Array(nodes.dropFirst())
    }

    private init(node text: Substring) throws(BrokerAddressError) {
        guard let scheme = text.firstRange(of: "://") else { throw BrokerAddressError("mqtt:// is missing") }
        switch text[..<scheme.lowerBound] {
        case "mqtt": usesTLS = false
        case "mqtts": usesTLS = true
        default: throw BrokerAddressError("the scheme is neither mqtt nor mqtts")
        }
        var rest = text[scheme.upperBound...]
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        if let at = rest.lastIndex(of: "@") {
            let credentials = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let user = percentDecoded(credentials[0]), !user.isEmpty else {
                throw BrokerAddressError("the user name is empty or has an invalid % code")
            }
            self.user = user
            if credentials.count == 2 {
                guard let password = percentDecoded(credentials[1]) else {
                    throw BrokerAddressError("the password has an invalid % code (write % as %25)")
                }
                self.password = password
            }
            rest = rest[rest.index(after: at)...]
        }
        guard !rest.contains(",") else { throw BrokerAddressError("mqtt:// is missing after a comma") }
        do {
            let address = try HostPort(rest, defaultPort: usesTLS ? 8883 : 1883)
            (host, port) = (address.host, address.port)
        } catch { throw BrokerAddressError(error.reason) }
    }
}

extension BrokerAddress: CustomStringConvertible {
    /// The addresses of all nodes without user names and passwords, suitable for logs.
    public var description: String {
        otherNodes.isEmpty ? nodeDescription : nodes.map(\.nodeDescription).joined(separator: ",")
    }

    private var nodeDescription: String {
        "\(usesTLS ? "mqtts" : "mqtt")://\(HostPort.text(host, port))"
    }
}

/// The reason why a text is not a broker address.
public struct BrokerAddressError: Error, Hashable, CustomStringConvertible {
    let reason: String
    init(_ reason: String) { self.reason = reason }
    /// The text with the reason.
    public var description: String {
        "not a broker address: \(reason); use mqtt[s]://[user@]host[:port]"
    }
}

/// Returns the texts of the addresses. A comma separates them only before a scheme: a password may contain one, too.
private func nodeTexts(_ text: String) -> [Substring] {
    var texts: [Substring] = []
    var start = text.startIndex
    for comma in text.indices where text[comma] == "," {
        let next = text[text.index(after: comma)...]
        guard next.hasPrefix("mqtt://") || next.hasPrefix("mqtts://") else { continue }
        texts.append(text[start..<comma])
        start = next.startIndex
    }
    return texts + [text[start...]]
}

/// Returns the decoded text, or nil if it has an invalid code or is not UTF-8.
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
