import Testing

@testable import LockstepCollector

@Suite("Topic table")
struct TopicTableTests {
    private func bytes<Result>(_ text: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        Array(text.utf8).withUnsafeBytes { body($0) }
    }

    @Test("every added topic is found, and no other topic is")
    func finding() {
        var table = TopicTable<Int>()
        let topics = (0..<5000).map { "lockstep/lab/device-\($0)/motion/accelerometer" }
        for (number, topic) in topics.enumerated() {
            #expect(bytes(topic) { table.index(of: $0) } == nil)
            #expect(bytes(topic) { table.add($0, number) } == number)
        }
        #expect(table.count == topics.count)
        for (number, topic) in topics.enumerated() {
            #expect(bytes(topic) { table.index(of: $0) } == number)
            #expect(table[number] == number)
            #expect(bytes(topic.dropLast() + "") { table.index(of: $0) } == nil)
            #expect(bytes(topic + "/") { table.index(of: $0) } == nil)
        }
    }

    @Test("a value can be changed in place")
    func changing() {
        var table = TopicTable<[Int]>()
        let index = bytes("a") { table.add($0, []) }
        table[index].append(7)
        #expect(table[index] == [7])
    }
}
