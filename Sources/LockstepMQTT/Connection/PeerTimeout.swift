import Glibc
import LockstepModel

/// Lets the system end a TCP connection whose peer's host no longer acknowledges anything.
///
/// The host acknowledges probes also while its program is busy or stopped, so that only a network or a host that fails
/// ends the connection, or a program that reads nothing for this time although the buffers of both sides are full.
struct PeerTimeout {
    /// The time without an acknowledgement, in s.
    let seconds: Int32

    /// The time without traffic after which the system probes the connection, and between two probes, in s.
    private static let probeInterval: Int32 = 2

    /// Sets the options of a socket. Where the system has no such options, the keep-alive of MQTT remains.
    func apply(to descriptor: Int32) {
        setSocketOption(SOL_SOCKET, SO_KEEPALIVE, 1, of: descriptor)
        setSocketOption(Int32(IPPROTO_TCP), TCP_KEEPIDLE, Self.probeInterval, of: descriptor)
        setSocketOption(Int32(IPPROTO_TCP), TCP_KEEPINTVL, Self.probeInterval, of: descriptor)
        setSocketOption(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, seconds * 1000, of: descriptor)
    }
}
