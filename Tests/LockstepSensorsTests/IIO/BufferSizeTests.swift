import LockstepSensors
import Testing

@Suite("Buffer size")
struct BufferSizeTests {
    private func watermark(_ rate: Double?, _ linger: Int64, chipScans: Int? = nil) -> Int {
        let size = BufferSize(rate: rate, linger: linger, chipScans: chipScans)
        return size.watermark(of: size.length)
    }

    @Test(
        "the watermark is the number of scans within the linger, rounded down",
        arguments: [
            (100.0, Int64(50_000), 5), (100, 100_000, 10), (100, 10_000, 1), (104, 100_000, 10), (6660, 100_000, 666),
        ])
    func linger(rate: Double, linger: Int64, watermark: Int) {
        #expect(self.watermark(rate, linger) == watermark)
    }

    @Test(
        "each scan wakes the reader if scans arrive less often than once per linger",
        arguments: [15.0, 9.9, 1, 0.01, 0])
    func slow(rate: Double) {
        #expect(watermark(rate, 100_000) == 1)
    }

    @Test("each scan wakes the reader if the rate is unknown or there is no linger")
    func single() {
        #expect(watermark(nil, 100_000) == 1)
        #expect(watermark(1000, 0) == 1)
    }

    @Test(
        "the chip's FIFO is emptied when it is half full at the latest",
        arguments: [(32, 16), (1024, 40), (3, 1), (1, 1), (0, 1)])
    func chip(scans: Int, watermark: Int) {
        #expect(self.watermark(400, 100_000, chipScans: scans) == watermark)
    }

    @Test("the buffer holds the scans of two seconds, and at least those of two lingers, within limits")
    func length() {
        let lengths = [(0.5, Int64(100_000)), (100, 50_000), (100, 100_000), (1e9, 100_000), (100, 4_000_000)].map {
            BufferSize(rate: $0.0, linger: $0.1).length
        }
        #expect(lengths == [16, 200, 200, 8192, 800])
        #expect(BufferSize(rate: nil, linger: 100_000).length == 200)
    }

    @Test("half of the buffer is reserved for a late reader")
    func room() {
        #expect(watermark(1e9, 100_000) == 4096)
        let size = BufferSize(rate: 200, linger: 100_000)
        #expect([400, 30, 2, 1, 0].map(size.watermark) == [20, 15, 1, 1, 1])
    }
}
