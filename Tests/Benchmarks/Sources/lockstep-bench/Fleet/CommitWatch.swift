import Foundation
import LockstepModel
import LockstepStore
import Synchronization

/// Polls a store on a separate thread, and records the age of each accelerometer sample of some devices when its row
/// becomes visible.
final class CommitWatch: Sendable {
    struct Commit {
        let time: Timestamp
        /// Time from the sample to its commit, in µs.
        let age: Int64
    }

    private let commits = Mutex<[Commit]>([])
    private let isStopping = Atomic<Bool>(false)
    private let hasStopped = DispatchSemaphore(value: 0)

    /// Starts to poll for samples that are newer than now.
    init(store: String, devices names: [String]) throws {
        let devices = try names.map { try DeviceID(validating: $0) }
        // Fails early if there is no store.
        _ = try StoreReader(path: store)
        let begin = Moment.now().wall
        Thread { [self] in
            defer { hasStopped.signal() }
            guard let reader = try? StoreReader(path: store) else { return }
            var newest = Array(repeating: begin, count: devices.count)
            while !isStopping.load(ordering: .relaxed) {
                for (index, device) in devices.enumerated() { look(at: device, in: reader, after: &newest[index]) }
                // Without a pause, polling would use a whole core.
                usleep(5000)
            }
        }.start()
    }

    /// Stops polling and returns the records.
    func stop() -> [Commit] {
        isStopping.store(true, ordering: .relaxed)
        hasStopped.wait()
        return commits.withLock { $0 }
    }

    /// Records samples that are newer than all earlier ones of the device, so that backlog is ignored.
    private func look(at device: DeviceID, in reader: StoreReader, after newest: inout Timestamp) {
        var times: [Timestamp] = []
        // If the store is busy, the next poll finds the samples.
        try? reader.query(stream: .accelerometer, devices: [device], from: newest + 1) { times.append($0.time) }
        let now = Moment.now().wall
        newest = times.last ?? newest
        commits.withLock { commits in commits += times.map { Commit(time: $0, age: now - $0) } }
    }
}
