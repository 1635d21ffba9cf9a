/// A queue in one array that is reused from the start when its end is reached.
struct RingQueue<Element: Sendable>: Sendable {
    private var slots: [Element?] = []
    private var head = 0
    /// The number of elements.
    private(set) var count = 0

    /// Whether the queue has no elements.
    var isEmpty: Bool { count == 0 }
    /// The oldest element.
    var first: Element? { isEmpty ? nil : slots[head] }

    /// Returns the element at `index`, counted from the oldest.
    subscript(index: Int) -> Element {
        precondition(index >= 0 && index < count)
        guard let element = slots[(head + index) % slots.count] else { preconditionFailure("a used slot is empty") }
        return element
    }

    /// Adds an element as the newest.
    mutating func append(_ element: Element) {
        if count == slots.count { resize(to: max(4, 2 * count)) }
        slots[(head + count) % slots.count] = element
        count += 1
    }

    /// Adds an element as the oldest.
    mutating func prepend(_ element: Element) {
        if count == slots.count { resize(to: max(4, 2 * count)) }
        head = (head + slots.count - 1) % slots.count
        slots[head] = element
        count += 1
    }

    /// Removes and returns the oldest element.
    mutating func removeFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = slots[head]
        slots[head] = nil
        head = (head + 1) % slots.count
        count -= 1
        // Return memory after a burst.
        if slots.count > 16, count < slots.count / 4 { resize(to: slots.count / 2) }
        return element
    }

    private mutating func resize(to size: Int) {
        var resized: [Element?] = []
        resized.reserveCapacity(size)
        for index in 0..<count { resized.append(self[index]) }
        resized += Array(repeating: nil, count: size - count)
        slots = resized
        head = 0
    }
}
