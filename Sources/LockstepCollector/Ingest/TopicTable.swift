import Glibc

/// A dictionary keyed by the raw bytes of a topic. Every message needs a lookup, and creating a `String` for it would
/// cost more than the lookup itself.
///
/// A hash table with linear probing. It uses Swift's `Hasher`, which is seeded per process, so that a client cannot
/// choose topics that collide.
struct TopicTable<Value> {
    private struct Entry {
        let hash: Int
        /// The range of the topic in `bytes`.
        let topic: Range<Int>
    }

    private var values: [Value] = []
    private var entries: [Entry] = []
    private var bytes: [UInt8] = []
    /// Indices into `entries`, or -1 for a free slot. The count is a power of two, and at least twice that of the
    /// entries.
    private var slots: [Int] = Array(repeating: -1, count: 64)

    var count: Int { values.count }

    subscript(index: Int) -> Value {
        _read { yield values[index] }
        _modify { yield &values[index] }
    }

    /// Returns the index of a topic, or nil if it is not in the table.
    func index(of topic: UnsafeRawBufferPointer) -> Int? {
        let found = slots[slot(of: topic, hash: Self.hash(of: topic))]
        return found < 0 ? nil : found
    }

    /// Adds a topic that is not in the table yet.
    /// - Returns: the index of the topic.
    mutating func add(_ topic: UnsafeRawBufferPointer, _ value: Value) -> Int {
        if 2 * (values.count + 1) > slots.count { grow() }
        let hash = Self.hash(of: topic)
        slots[slot(of: topic, hash: hash)] = values.count
        entries.append(Entry(hash: hash, topic: bytes.count..<bytes.count + topic.count))
        bytes += topic
        values.append(value)
        return values.count - 1
    }

    private static func hash(of topic: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: topic)
        return hasher.finalize()
    }

    /// Returns the slot of a topic, or the free slot where it would be inserted.
    private func slot(of topic: UnsafeRawBufferPointer, hash: Int) -> Int {
        let mask = slots.count - 1
        var slot = hash & mask
        while slots[slot] >= 0, !isEntry(slots[slot], topic, hash) { slot = (slot + 1) & mask }
        return slot
    }

    private func isEntry(_ index: Int, _ topic: UnsafeRawBufferPointer, _ hash: Int) -> Bool {
        let entry = entries[index]
        guard entry.hash == hash, entry.topic.count == topic.count, let other = topic.baseAddress else { return false }
        return bytes.withUnsafeBytes { bytes in
            bytes.baseAddress.map { memcmp($0 + entry.topic.lowerBound, other, topic.count) == 0 } ?? false
        }
    }

    private mutating func grow() {
        slots = Array(repeating: -1, count: 2 * slots.count)
        let mask = slots.count - 1
        for (index, entry) in entries.enumerated() {
            var slot = entry.hash & mask
            while slots[slot] >= 0 { slot = (slot + 1) & mask }
            slots[slot] = index
        }
    }
}
