import Glibc

/// The open sockets to one server, to find out whether its host still acknowledges what is sent. Use it from one thread at a
/// time.
///
/// The system acknowledges packets also while the program is busy or stopped. So a host that acknowledges nothing cannot be
/// reached, however long its server may take for an answer.
final class PeerSockets {
    private var descriptors: Set<Int32> = []

    /// The number of packets in a row that were sent again, or probes, without an acknowledgement, from which a host counts
    /// as silent. With one, a single lost packet would do.
    private static let minAttempts: UInt8 = 2

    /// Lets the system probe a new socket while it waits for data.
    func opened(_ descriptor: Int32) {
        descriptors.insert(descriptor)
        set(SOL_SOCKET, SO_KEEPALIVE, 1, of: descriptor)
        set(Int32(IPPROTO_TCP), TCP_KEEPIDLE, 2, of: descriptor)
        set(Int32(IPPROTO_TCP), TCP_KEEPINTVL, 1, of: descriptor)
    }

    func closed(_ descriptor: Int32) {
        descriptors.remove(descriptor)
        close(descriptor)
    }

    /// Returns whether the host has acknowledged nothing on one of the connections for this time, although it should have.
    func isSilent(for limit: Duration) -> Bool {
        let milliseconds = UInt32(limit / .milliseconds(1))
        return descriptors.contains { descriptor in
            guard let info = Self.information(of: descriptor), info.tcpi_state == Self.established else { return false }
            return min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv) >= milliseconds
                && max(info.tcpi_retransmits, info.tcpi_probes) >= Self.minAttempts
        }
    }

    private static let established = 1 as UInt8

    private static func information(of descriptor: Int32) -> tcp_info? {
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        return getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 ? info : nil
    }

    private func set(_ level: Int32, _ name: Int32, _ value: Int32, of descriptor: Int32) {
        var value = value
        _ = setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
