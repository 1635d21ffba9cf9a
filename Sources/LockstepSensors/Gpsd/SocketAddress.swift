import Glibc

/// An IPv4 or IPv6 socket address.
struct SocketAddress: Sendable {
    let family: Int32
    private let storage: sockaddr_storage
    private let size: socklen_t

    private init?(_ info: addrinfo) {
        guard let address = info.ai_addr, Int(info.ai_addrlen) <= MemoryLayout<sockaddr_storage>.size else {
            return nil
        }
        family = info.ai_family
        size = info.ai_addrlen
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen)))
        }
        self.storage = storage
    }

    /// Calls `body` with the address as a `sockaddr`.
    func withSystemAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }

    /// Returns addresses in the order in which to try them: the families in turn (RFC 8305, section 4), because often one of
    /// them does not work at all.
    static func inTurn(_ addresses: [SocketAddress]) -> [SocketAddress] {
        var same = addresses.filter { $0.family == addresses[0].family }[...]
        var other = addresses.filter { $0.family != addresses[0].family }[...]
        var result: [SocketAddress] = []
        while let next = same.popFirst() {
            result.append(next)
            if let next = other.popFirst() { result.append(next) }
        }
        return result + other
    }

    /// Returns all TCP addresses of a host in the order in which to try them. Blocks during the lookup.
    static func lookUp(_ address: GpsdAddress) -> Result<[SocketAddress], GpsdConnectionError> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(address.host, String(address.port), &hints, &list)
        guard code == 0 else { return .failure(GpsdConnectionError(String(cString: gai_strerror(code)))) }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let info = next?.pointee {
            if let address = SocketAddress(info) { found.append(address) }
            next = info.ai_next
        }
        return .success(found)
    }
}
