import LockstepModel

/// The recent samples that a new subscriber receives first, limited in time and size.
enum RecentEvents {
    /// Returns one event for each stream of each device.
    /// - Parameters:
    ///   - maxBytes: the approximate maximum size of all events. If there is more, each stream has the same share, with its
    ///     newest samples.
    ///   - maxAge: the maximum time before the newest sample of the stream, in µs.
    static func encode(
        _ recent: [(address: DeviceAddress, samples: [SampleBlock])], maxBytes: Int, maxAge: Int64
    ) -> [[UInt8]] {
        guard !recent.isEmpty else { return [] }
        let share = maxBytes / recent.count - 200
        return recent.compactMap { address, blocks in
            guard let stream = blocks.first?.stream else { return nil }
            let samples = newest(share / SampleJSON.estimatedBytes(of: stream), of: blocks, maxAge: maxAge)
            guard let samples, !samples.isEmpty else { return nil }
            return EventBytes.event("samples", data: SampleJSON.encode(samples, of: address))
        }
    }

    /// Returns at most `count` of the newest samples as one block; nil if there are none.
    static func newest(_ count: Int, of blocks: [SampleBlock], maxAge: Int64) -> SampleBlock? {
        guard count > 0, var result = blocks.first, let end = blocks.last?.times.last else { return nil }
        for block in blocks.dropFirst() { result.append(contentsOf: block) }
        let start = result.times.firstIndex { $0 >= end - maxAge } ?? 0
        let first = max(start, result.count - count)
        return first == 0 ? result : result[first..<result.count]
    }
}
