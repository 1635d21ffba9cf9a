import Glibc

/// The address of this machine for others.
enum HostAddress {
    /// The first IPv4 address of an interface that is up and not the loopback; nil if there is none.
    static var own: String? {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return nil }
        defer { freeifaddrs(first) }
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
            return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        return nil
    }
}
