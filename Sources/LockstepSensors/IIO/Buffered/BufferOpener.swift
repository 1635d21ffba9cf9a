import Glibc
import Synchronization

/// Opens the buffers of character devices; replaceable in tests, where there is no kernel to open them.
package struct BufferOpener: Sendable {
    /// Returns a non-blocking descriptor of a buffer of a character device.
    let open: @Sendable (_ node: String, _ buffer: IIOBuffer) throws(IIOError) -> Int32

    package init(_ open: @escaping @Sendable (_ node: String, _ buffer: IIOBuffer) throws(IIOError) -> Int32) {
        self.open = open
    }

    /// Opens buffers through the kernel.
    package static let kernel = BufferOpener { (node, buffer) throws(IIOError) in
        // A node can only be opened once at a time. A device with one buffer is read through its node. If it has
        // several buffers, each gets its own descriptor, and the node is closed at once, so that it can be opened for
        // the next buffer.
        guard buffer.isOneOfSeveral else { return try openNode(node) }
        return try nodeLock.withLock { _ throws(IIOError) in
            let descriptor = try openNode(node)
            defer { close(descriptor) }
            var result = Int32(buffer.index)
            guard ioctl(descriptor, getBuffer, &result) == 0 else {
                throw IIOError(path: "\(node), buffer \(buffer.index)", errno: errno)
            }
            _ = fcntl(result, F_SETFD, FD_CLOEXEC)
            _ = fcntl(result, F_SETFL, O_NONBLOCK)
            return result
        }
    }

    /// Keeps two buffers of a device from being opened at the same time.
    private static let nodeLock = Mutex(())

    /// `IIO_BUFFER_GET_FD_IOCTL` of <linux/iio/buffer.h>: `_IOWR('i', 0x91, int)`.
    private static let getBuffer: UInt = 0xC004_6991

    private static func openNode(_ node: String) throws(IIOError) -> Int32 {
        let descriptor = Glibc.open(node, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw IIOError(path: node, errno: errno) }
        return descriptor
    }
}
