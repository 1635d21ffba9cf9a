/// The reverse proxies whose field `X-Forwarded-For` names the client of a request.
public struct TrustedProxies: Hashable, Sendable {
    private struct Network: Hashable {
        let bytes: [UInt8]
        let bits: Int

        func contains(_ address: ClientAddress) -> Bool {
            guard address.bytes.count == bytes.count else { return false }
            return bytes.indices.allSatisfy { index in
                let mask = UInt8(truncatingIfNeeded: 0xFF00 >> min(8, max(0, bits - 8 * index)))
                return (bytes[index] ^ address.bytes[index]) & mask == 0
            }
        }
    }

    private let networks: [Network]

    /// No proxies.
    public static let none = TrustedProxies(networks: [])

    private init(networks: [Network]) { self.networks = networks }

    /// Parses addresses and networks, such as `127.0.0.1,10.1.0.0/16,::1`. Returns nil for any other text.
    public init?(_ text: String) {
        var networks: [Network] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard let address = ClientAddress(sides[0].filter { $0 != " " }) else { return nil }
            let length = 8 * address.bytes.count
            guard let bits = sides.count == 2 ? Int(sides[1].filter { $0 != " " }) : length, (0...length).contains(bits)
            else { return nil }
            networks.append(Network(bytes: address.bytes, bits: bits))
        }
        self.networks = networks
    }

    /// Returns the client of a connection or a request.
    ///
    /// A proxy adds the address of its client at the end of the field, so the last address that is not of a proxy counts:
    /// what stands before it may be invented by the client.
    /// - Parameters:
    ///   - peer: the address of the other end of the connection, or nil if it is unknown.
    ///   - forwardedFor: the fields `X-Forwarded-For`; it is ignored unless `peer` is a trusted proxy.
    package func client(peer: String?, forwardedFor: [String] = []) -> Client {
        guard let peer, let address = ClientAddress(peer) else {
            return Client(limitKey: nil, address: peer ?? "unknown")
        }
        guard contains(address) else {
            return Client(limitKey: address.isLoopback ? nil : address.limitKey, address: address.description)
        }
        for entry in forwardedFor.joined(separator: ",").split(separator: ",").reversed() {
            guard let client = ClientAddress(entry.filter { $0 != " " }) else { break }
            if !contains(client) { return Client(limitKey: client.limitKey, address: client.description) }
        }
        return Client(limitKey: nil, address: address.description)
    }

    private func contains(_ address: ClientAddress) -> Bool { networks.contains { $0.contains(address) } }
}
