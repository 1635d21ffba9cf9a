/// The last changes as server-sent events, with ids from which a subscriber that returns can continue.
struct ChangeLog {
    /// The part of an id before the number. It differs in each run of the program, so that an id of an earlier run is not
    /// mistaken for one of this run.
    let instance: String
    private let capacity: Int
    /// The last changes, from the oldest.
    private var changes = RingQueue<[UInt8]>()
    /// The number of the last change.
    private(set) var last: Int64 = 0

    init(instance: String, capacity: Int) {
        self.instance = instance
        self.capacity = capacity
    }

    /// Adds a change, and returns it as an event.
    /// - Parameter data: JSON.
    mutating func add(_ name: String, _ data: [UInt8]) -> [UInt8] {
        last += 1
        let event = EventBytes.event(name, id: "\(instance)-\(last)", data: data)
        changes.append(event)
        if changes.count > capacity { _ = changes.removeFirst() }
        return event
    }

    /// Returns the changes after an event that a subscriber has received, or nil if it needs a snapshot.
    /// - Parameter id: the id of the event.
    func changes(after id: String?) -> [[UInt8]]? {
        guard let id, let dash = id.lastIndex(of: "-"), id[..<dash] == instance,
            let number = Int64(id[id.index(after: dash)...]), number >= 0, number <= last,
            last - number <= Int64(changes.count)
        else { return nil }
        return (changes.count - Int(last - number)..<changes.count).map { changes[$0] }
    }

    /// The event after a snapshot or missed changes. Its id is that of the last change.
    var ready: [UInt8] { EventBytes.event("ready", id: "\(instance)-\(last)", data: Array("{}".utf8)) }
}
