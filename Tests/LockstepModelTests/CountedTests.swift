import LockstepModel
import Testing

@Suite("Counts in texts")
struct CountedTests {
    @Test("only a count of one has the singular", arguments: [(0, "0 samples"), (1, "1 sample"), (2, "2 samples")])
    func regular(_ count: Int, _ text: String) {
        #expect(counted(count, "sample") == text)
    }

    @Test("an irregular plural is used as it is")
    func irregular() {
        #expect(counted(Int64(1), "batch", "batches") == "1 batch")
        #expect(counted(Int64(12), "batch", "batches") == "12 batches")
    }
}
