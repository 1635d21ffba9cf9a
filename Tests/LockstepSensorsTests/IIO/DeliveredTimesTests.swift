import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Times of delivered IIO samples")
struct DeliveredTimesTests {
    @Test("samples that are not later than the last one of their stream are dropped, across blocks")
    func drops() {
        var delivered = DeliveredTimes()
        #expect(delivered.advance(over: block([1, 2, 5]))?.times == [1, 2, 5])
        let rest = delivered.advance(over: block([4, 5, 6, 9]))
        #expect(rest?.times == [6, 9])
        #expect(rest?.columns[0] == [2, 3])
        #expect(delivered.advance(over: block([8, 9])) == nil)
        #expect(delivered.advance(over: block([10]))?.times == [10])
    }

    @Test("streams are independent")
    func streams() {
        var delivered = DeliveredTimes()
        _ = delivered.advance(over: block([100]))
        #expect(delivered.advance(over: block([7], .gyroscope))?.times == [7])
        #expect(delivered.advance(over: SampleBlock(stream: .gyroscope)) == nil)
    }
}
