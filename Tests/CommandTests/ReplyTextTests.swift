import LockstepModel
import Testing

@testable import lockstep

@Suite("Text of an agent's reply")
struct ReplyTextTests {
    private func reply(_ rate: Double?, requested: Double?, until: Int64? = 1_800_000_000_000_000) -> String {
        text(
            of: AgentReply(
                outcome: .leased(
                    stream: .accelerometer, rate: rate, until: until.map(Timestamp.init(microseconds:)))),
            requested: requested)
    }

    @Test("a lease below the present rate changes nothing, and the reply says so")
    func lower() {
        let end = "2027-01-15T08:00:00Z"
        #expect(reply(200, requested: 200) == "motion/accelerometer is published at 200 Hz, leased until \(end)\n")
        #expect(
            reply(.infinity, requested: 50)
                == "50 Hz is leased until \(end), but motion/accelerometer stays at the rate of its source, because the "
                + "highest request wins\n")
        #expect(
            reply(100, requested: 50).contains("50 Hz is leased until \(end), but motion/accelerometer stays at 100 Hz")
        )
        #expect(reply(nil, requested: nil, until: nil) == "motion/accelerometer is off\n")
    }
}
