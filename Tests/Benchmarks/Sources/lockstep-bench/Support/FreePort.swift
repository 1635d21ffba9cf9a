import Foundation

/// Returns a loopback port that is free now.
func freePort() throws -> Int {
    for _ in 0..<1000 {
        // Below the ports that the kernel gives to outgoing connections.
        let port = Int.random(in: 10_000..<32_768)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        if code == 0 { return port }
    }
    throw Failure("no free port from 10000 to 32767")
}
