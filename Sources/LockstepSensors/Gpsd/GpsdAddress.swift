import Glibc
import LockstepModel

/// The network address of gpsd, and the receiver to use.
public struct GpsdAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name or an IPv4 or IPv6 address, without brackets.
    public let host: String
    /// The TCP port.
    public let port: UInt16
    /// The path of the receiver to use, such as `/dev/ttyUSB0`; nil uses all receivers.
    public let device: String?

    /// The default TCP port of gpsd, 2947.
    public static let standardPort: UInt16 = 2947

    /// Creates an address.
    public init(host: String = "localhost", port: UInt16 = GpsdAddress.standardPort, device: String? = nil) {
        self.host = host
        self.port = port
        self.device = device
    }

    /// Parses `host`, `host:port`, `[address]` or `[address]:port`, each also with the path of a receiver behind it, as
    /// in `host:port/dev/ttyUSB0` or, as the clients of gpsd write it, `host:port:/dev/ttyUSB0`; nil if the text has
    /// another form.
    public init?(_ text: String) {
        let network = text.prefix { $0 != "/" }
        var rest = network
        var device: String?
        if network.count < text.count {
            let path = text.dropFirst(network.count)
            // gpsd names a receiver behind a network by its address, such as tcp://host:port.
            let isRemote = path.dropFirst().contains("://")
            guard isRemote || path.hasPrefix("/dev/"), !path.contains(where: \.isWhitespace) else { return nil }
            device = String(isRemote ? path.dropFirst() : path)
            if rest.last == ":" { rest = rest.dropLast() }
        }
        if rest.isEmpty || rest.hasPrefix(":"), network.isEmpty || text.first == ":" { rest = "localhost" + rest }
        guard let address = try? HostPort(rest, defaultPort: Self.standardPort) else { return nil }
        self.init(host: address.host, port: address.port, device: device)
    }

    /// `host:port`, with an IPv6 address in brackets.
    var endpoint: String { HostPort.text(host, port) }

    /// `host:port`, with an IPv6 address in brackets, and the path of the receiver if one is chosen.
    public var description: String {
        endpoint + (device.map { $0.hasPrefix("/") ? $0 : "/" + $0 } ?? "")
    }
}

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
