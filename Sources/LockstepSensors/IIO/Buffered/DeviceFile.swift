import Glibc

/// An open buffer of a device. The descriptor is closed when the object is deallocated.
final class DeviceFile: Sendable {
    /// The size of one read in bytes.
    private static let maxReadSize = 65_536

    let descriptor: Int32
    private let path: String

    /// Opens a buffer of the character device `node`.
    /// - Throws: ``IIOError`` that names the file.
    init(_ opener: BufferOpener, _ node: String, _ buffer: IIOBuffer) throws(IIOError) {
        path = node
        descriptor = try opener.open(node, buffer)
    }

    deinit { close(descriptor) }

    /// Returns the bytes available now, possibly none.
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
        if count == 0 { throw IIOError("the sensor is gone: \(path) has ended") }
        return bytes
    }
}
