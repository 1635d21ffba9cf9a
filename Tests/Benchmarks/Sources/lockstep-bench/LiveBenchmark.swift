import Dispatch
import Foundation
import LockstepLive
import LockstepModel
import LockstepWire
import Synchronization

/// CPU time of distributing the samples of one device to many subscribers, including a write on a socket for each wake-up.
struct LiveBenchmark {
    private let subscribers = 200
    private let streams: [SensorStream] = [.accelerometer, .gyroscope, .magnetometer]
    /// The length of a batch in s; ten batches per second become ten events per second.
    private let window = 0.1
    private let seconds: Double
    private let rounds: Int

    init(rounds: Int, length: Double) {
        self.rounds = rounds
        seconds = 10 * length
    }

    func run() throws -> [Comparison] {
        let metrics = [Metric(name: "CPU", unit: "cores", digits: 3), Metric(name: "events", unit: "events/s")]
        return try compare(
            "live", metrics, rounds: rounds,
            [
                Contender(name: "200 subscribers, 10 Hz") { try measure(subscribers) },
                Contender(name: "no subscribers") { try measure(0) },
            ])
    }

    private func measure(_ count: Int) throws -> [Double] {
        let picture = LivePicture(root: .standard)
        let pairs = try (0..<count).map { _ in try SocketPair() }
        let request = SampleRequest(devices: nil, streams: nil, hz: 10)
        let tasks = try pairs.map { pair in
            let subscription = try picture.subscribe(to: request)
            return Task.detached {
                var events = 0
                for await chunks in subscription {
                    events += chunks.count
                    pair.write(chunks)
                }
                return events
            }
        }
        let before = cpuSeconds()
        let start = ContinuousClock.now
        publish(to: picture, draining: pairs)
        let used = cpuSeconds() - before
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        picture.close("finished")
        let total = wait(for: tasks)
        for pair in pairs { pair.close() }
        return [used / elapsed, Double(total) / elapsed]
    }

    /// Publishes batches in real time, and reads what subscribers have written.
    private func publish(to picture: LivePicture, draining pairs: [SocketPair]) {
        let start = Moment.now().boot
        var nextBatch = start
        var number = 0
        while Double(Moment.now().boot - start) / 1e6 < seconds {
            if Moment.now().boot >= nextBatch {
                for stream in streams {
                    let payload = BatchEncoding.cbor.encode(Batch(position: nil, samples: batch(number, of: stream)))
                    payload.withUnsafeBytes {
                        _ = picture.handle(
                            topic: "lockstep/lab/left/\(stream.name)", payload: $0, contentType: nil, at: .now())
                    }
                }
                number += 1
                nextBatch += Int64(window * 1e6)
                for pair in pairs { pair.drain() }
            }
            let next = min(picture.advance(to: .now()), nextBatch)
            usleep(UInt32(max(0, min(next - Moment.now().boot, 100_000))))
        }
    }

    private func batch(_ number: Int, of stream: SensorStream) -> SampleBlock {
        let count = Int(100 * window)
        let first = 1_700_000_000_000_000 + Int64(number * count) * 10_000
        return SampleBlock(
            stream: stream, times: (0..<Int64(count)).map { first + $0 * 10_000 },
            columns: stream.columns.indices.map { column in
                (0..<count).map { (sin(Double(number * count + $0 + column)) * 10_000).rounded() / 10_000 }
            })
    }

    private func wait(for tasks: [Task<Int, Never>]) -> Int {
        let finished = DispatchSemaphore(value: 0)
        let total = Total()
        Task.detached {
            for task in tasks {
                let events = await task.value
                total.events.withLock { $0 += events }
            }
            finished.signal()
        }
        finished.wait()
        return total.events.withLock { $0 }
    }

    /// The number of events.
    private final class Total: Sendable { let events = Mutex(0) }
}

/// The two ends of a local stream socket.
private struct SocketPair: Sendable {
    private let writer: Int32
    private let reader: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0 else {
            throw Failure("no sockets: raise the limit of open files")
        }
        (writer, reader) = (ends[0], ends[1])
    }

    /// Writes all chunks with one call, as a web server does.
    func write(_ chunks: [[UInt8]]) {
        let bytes = Array(chunks.joined())
        let written = bytes.withUnsafeBytes { Foundation.write(writer, $0.baseAddress, $0.count) }
        precondition(written == bytes.count, "the socket is full")
    }

    func drain() {
        withUnsafeTemporaryAllocation(byteCount: 1 << 18, alignment: 1) { buffer in
            while read(reader, buffer.baseAddress, buffer.count) > 0 {}
        }
    }

    func close() {
        Foundation.close(writer)
        Foundation.close(reader)
    }
}

/// The CPU time of this process so far, in s.
private func cpuSeconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
}
