import LockstepCommandLine
import LockstepModel
import LockstepWire
import Testing

@testable import lockstep

@Suite("The space of a store in lockstep doctor")
struct SpaceDiagnosisTests {
    private let now = Timestamp(microseconds: 1_800_000_000_000_000)

    private func texts(_ change: (inout CollectorHealth.Space) -> Void) -> [String] {
        var space = CollectorHealth.Space(file: 30 << 20, log: 70 << 20, free: 10 << 20, limit: 25 << 20)
        change(&space)
        return SpaceDiagnosis(name: "lab/main", space: space, now: now).findings.map(\.text)
    }

    @Test("a store that will be full in two weeks, a missing confirmation, and a long reader are reported")
    func findings() {
        let day: Int64 = 86_400_000_000
        #expect(texts { _ in }.isEmpty)
        #expect(texts { $0.fullAt = now + 15 * day }.isEmpty)
        #expect(
            texts { $0.fullAt = now + 2 * day } == [
                "its store will be full on \((now + 2 * day).iso8601Seconds) at the present rate; it has 20 MB of 25 MB"
            ])
        #expect(texts { $0.refused = ["steps"] }.first?.hasPrefix("more than half of steps would expire") == true)
        #expect(texts { ($0.reader, $0.readerAge) = (77, 599) }.isEmpty)
        #expect(
            texts { ($0.reader, $0.readerAge) = (77, 660) } == [
                "process 77 has been reading its store for 11 min; the write-ahead log has grown to 70 MB and cannot be "
                    + "emptied"
            ])
    }
}
