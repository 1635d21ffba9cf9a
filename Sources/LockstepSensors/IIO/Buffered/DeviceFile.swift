import Glibc

/// A character device with scans; closes it when the last reference goes.
final class DeviceFile: Sendable {
    /// Bytes that are read at once.
    private static let maxReadSize = 65_536

    let descriptor: Int32
    private let path: String

    /// - Throws: ``IIOError`` that names the file.
    init(_ path: String) throws(IIOError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw IIOError(path: path, errno: errno) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// What there is to read now, perhaps nothing.
    /// - Throws: ``IIOError`` if the device is gone.
    func read() throws(IIOError) -> [UInt8] {
        var count = 0
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.maxReadSize) { buffer, filled in
            repeat {
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            } while count < 0 && errno == EINTR
            code = count < 0 ? errno : 0
            filled = max(0, count)
        }
        if count < 0, code == EAGAIN { return [] }
        if count < 0 { throw IIOError(path: path, errno: code) }
        if count == 0 { throw IIOError("\(path) has ended: the sensor is gone") }
        return bytes
    }
}
