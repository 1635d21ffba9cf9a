import Glibc

/// The names and addresses of this machine for others.
enum OwnAddress {
    /// The IPv4 addresses of interfaces that are up and not the loopback.
    static var all: [String] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var found: [String] = []
        for interface in sequence(first: first, next: { $0?.pointee.ifa_next }) {
            guard let interface, let address = interface.pointee.ifa_addr, address.pointee.sa_family == AF_INET,
                interface.pointee.ifa_flags & UInt32(IFF_LOOPBACK) == 0,
                interface.pointee.ifa_flags & UInt32(IFF_UP) != 0
            else { continue }
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(MemoryLayout<sockaddr_in>.size)
            guard getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
                continue
            }
            found.append(string(text))
        }
        return found
    }

    /// The first of ``all``; nil if there is none.
    static var own: String? { all.first }

    /// The name of this machine; localhost if it has none.
    static var name: String {
        var text = [CChar](repeating: 0, count: 256)
        guard gethostname(&text, text.count - 1) == 0, text[0] != 0 else { return "localhost" }
        return string(text)
    }

    private static func string(_ text: [CChar]) -> String {
        String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
