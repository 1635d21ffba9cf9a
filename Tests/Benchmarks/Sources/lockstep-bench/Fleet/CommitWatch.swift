import Foundation
import LockstepModel
import LockstepStore
import Synchronization

/// Looks at a store all the time, on a thread of its own, and notes how old each accelerometer sample of some devices is
/// when its row is there.
final class CommitWatch: Sendable {
    struct Commit {
        let time: Timestamp
        /// µs
        let age: Int64
    }

    private let commits = Mutex<[Commit]>([])
    private let isStopping = Atomic<Bool>(false)
    private let hasStopped = DispatchSemaphore(value: 0)

    /// Begins to look, at samples from now on.
    init(store: String, devices names: [String]) throws {
        let devices = try names.map { try DeviceID(validating: $0) }
        // Also sees that the store is there.
        _ = try StoreReader(path: store)
        let begin = Moment.now().wall
        Thread { [self] in
            defer { hasStopped.signal() }
            guard let reader = try? StoreReader(path: store) else { return }
            var newest = Array(repeating: begin, count: devices.count)
            while !isStopping.load(ordering: .relaxed) {
                for (index, device) in devices.enumerated() { look(at: device, in: reader, after: &newest[index]) }
                // Without a pause it would take a core from those that are measured.
                usleep(5000)
            }
        }.start()
    }

    /// Ends, and gives what was noted.
    func stop() -> [Commit] {
        isStopping.store(true, ordering: .relaxed)
        hasStopped.wait()
        return commits.withLock { $0 }
    }

    /// Only what is newer than all of the device before: backlog that comes later is not seen.
    private func look(at device: DeviceID, in reader: StoreReader, after newest: inout Timestamp) {
        var times: [Timestamp] = []
        // A look that finds the store busy is made up for by the next.
        try? reader.query(stream: .accelerometer, devices: [device], from: newest + 1) { times.append($0.time) }
        let now = Moment.now().wall
        newest = times.last ?? newest
        commits.withLock { commits in commits += times.map { Commit(time: $0, age: now - $0) } }
    }
}
