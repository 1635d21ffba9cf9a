import Dispatch
import Glibc
import Hummingbird
import HummingbirdCore
import LockstepHTTP
import NIOCore

/// A temporary file without a name: an answer that was read from the store completely before it is sent, so that a client
/// that is slow keeps neither a thread nor a snapshot of the store.
final class UnnamedFile: Sendable {
    /// The file cannot be written.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ action: String) {
            description =
                "cannot \(action) a temporary file: \(String(cString: strerror(errno))): set TMPDIR to a folder with space"
        }
    }

    private static let queue = DispatchQueue(label: "lockstep.serve.exports")
    private static let partBytes = 256 << 10
    /// The free space of the file system in bytes below which nothing is written.
    private static let reserve: UInt64 = 256 << 20
    private let descriptor: Int32
    private let onClose: @Sendable () -> Void

    /// - Parameter onClose: is called when nobody uses the file any more.
    init(onClose: @escaping @Sendable () -> Void) throws(Failure) {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var path = Array("\(folder)/lockstep-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        self.onClose = onClose
        guard descriptor >= 0 else { throw Failure("create") }
        unlink(&path)
    }

    deinit {
        guard descriptor >= 0 else { return }
        close(descriptor)
        onClose()
    }

    /// Appends bytes. Leaves a reserve to the others.
    func write(_ bytes: [UInt8]) throws(Failure) {
        var space = statvfs()
        if fstatvfs(descriptor, &space) == 0, UInt64(space.f_bavail) * UInt64(space.f_frsize) < Self.reserve {
            errno = ENOSPC
            throw Failure("write")
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure("write") }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns the content as the body of an answer.
    func body(_ call: APICall) -> ResponseBody {
        let length = Int(lseek(descriptor, 0, SEEK_END))
        let (request, memory) = (call.request, call.memory)
        // Without the length: the answer would count as held in memory.
        return ResponseBody { writer in
            try await request.body.consumeWithCancellationOnInboundClose { _ in
                var limiter = OutputRateLimiter(rate: call.limits.outputRate)
                var offset = 0
                while offset < length {
                    let part = await self.part(at: offset)
                    guard !part.isEmpty else { throw Failure("read") }
                    offset += part.count
                    try await memory.write(ByteBuffer(bytes: part), to: &writer)
                    try await Task.sleep(until: limiter.send(part.count))
                }
            }
            try await writer.finish(nil)
        }
    }

    /// Reads a part on a queue, because a disk may be slow.
    private func part(at offset: Int) async -> [UInt8] {
        await withCheckedContinuation { done in
            Self.queue.async { [self] in
                var bytes = [UInt8](repeating: 0, count: Self.partBytes)
                let count = pread(descriptor, &bytes, bytes.count, off_t(offset))
                done.resume(returning: Array(bytes.prefix(max(0, count))))
            }
        }
    }
}
