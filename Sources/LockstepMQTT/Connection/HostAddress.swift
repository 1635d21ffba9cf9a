import Glibc

struct HostAddress: Hashable, Sendable {
    /// The address as text, such as `192.0.2.1` or `2001:db8::1`.
    let text: String
    let isIPv6: Bool

    /// Returns the addresses of a host in the order of the system (RFC 6724). Blocks during the lookup.
    static func resolve(_ host: String) throws(MQTTError) -> [HostAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else {
            throw MQTTError(.unknownHost, "cannot resolve the host name")
        }
        defer { freeaddrinfo(list) }
        var found: [HostAddress] = []
        var next = list
        while let info = next?.pointee {
            next = info.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard
                getnameinfo(
                    info.ai_addr, info.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let address = HostAddress(
                text: String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self),
                isIPv6: info.ai_family == AF_INET6)
            if !found.contains(address) { found.append(address) }
        }
        return found
    }

    /// Returns addresses in the order in which to try them: `preferred` first, then IPv6 and IPv4 in turn (RFC 8305,
    /// section 4).
    static func inTurn(_ addresses: [HostAddress], preferred: String? = nil) -> [HostAddress] {
        guard let first = addresses.first(where: { $0.text == preferred }) ?? addresses.first else { return [] }
        let others = addresses.filter { $0 != first }
        var same = others.filter { $0.isIPv6 == first.isIPv6 }[...]
        var other = others.filter { $0.isIPv6 != first.isIPv6 }[...]
        var result = [first]
        while let next = other.popFirst() {
            result.append(next)
            if let next = same.popFirst() { result.append(next) }
        }
        return result + same
    }
}
