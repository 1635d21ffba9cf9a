import LockstepMQTT
import Testing

@testable import LockstepCollector

@Suite("The report of a collector that has no connection")
struct SeparateReportTests {
    private var exchange = SeparateReport.Exchange()
    private static let error = MQTTError(.connectionLost, "lost")

    @Test("it is published after the retained report has arrived, also if a connection is lost before")
    func published() {
        let actions = [
            .connected(.five), .interrupted(Self.error, wasConnected: true), .connected(.five), .ready,
            .published(id: 4, refusal: nil),
        ].map { (event: BrokerSession.Event) in exchange.handle(event) }
        #expect(actions == [.wait, .wait, .wait, .publish, .end(isReported: true)])
    }

    @Test("it is not published if another collector has reported, or if this cannot be known")
    mutating func notPublished() {
        let denied = exchange.handle(.denied(filter: "x", Self.error))
        exchange.isReplaced = true
        let replaced = exchange.handle(.ready)
        #expect(denied == .end(isReported: false) && replaced == .end(isReported: true))
    }

    @Test("a refusal is no success")
    func refused() {
        let action = exchange.handle(.published(id: 4, refusal: MQTTError(.notAuthorized, "no")))
        #expect(action == .end(isReported: false))
    }
}
