import LockstepModel
import LockstepStore
import LockstepWire
import SensorTestSupport
import Testing

@testable import LockstepCollector

@Suite("Requests to delete samples")
struct DeletionRequestTests {
    private var intake = Intake.standard
    private var registry = LifecycleRegistry([:], timing: .init(), at: moment(0))

    private mutating func ingest(_ text: String, isRetained: Bool = false) {
        intake.ingest("lockstep/lab/pi/delete", Array(text.utf8), isRetained: isRetained, &registry, 2)
    }

    @Test("a request about a known device is part of the group; others are rejected, and retained ones ignored")
    mutating func requests() {
        let request = #"{"id":"a","stream":"location","from":1,"to":5}"#
        ingest(request)
        #expect(
            intake.group.deletions.isEmpty
                && intake.group.rejected.map(\.reason).first?.contains("nothing to delete") == true)
        intake.ingest("lockstep/lab/pi/motion/accelerometer", BatchJSON.encode(IntakeTests.batch(at: 1)), &registry, 1)
        _ = intake.takeGroup(&registry, at: moment(2))
        ingest(request, isRetained: true)
        ingest("")
        #expect(intake.group.isEmpty)
        ingest(request)
        #expect(intake.group.deletions.map(\.id) == ["a"] && intake.group.deletions.first?.times == 1..<5)
        #expect(intake.group.deletions.first?.at == moment(2).wall)
        #expect(!intake.group.isEmpty && !intake.group.isDeferrable)
        ingest(#"{"id":"b","from":5,"to":5}"#)
        #expect(intake.group.deletions.count == 1 && intake.group.rejected.count == 1)
    }
}
