import Glibc

/// Sets an option of a socket. A connection also works without it.
package func setSocketOption(_ level: Int32, _ name: Int32, _ value: Int32, of descriptor: Int32) {
    var value = value
    _ = setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}
