import LockstepMQTT
import Testing

@testable import LockstepCollector

@Suite("The report of a collector that stops while its store cannot be written")
struct OfflineReportTests {
    private var exchange = OfflineReport.Exchange()

    private mutating func actions(_ events: [BrokerLink.Event]) -> [OfflineReport.Exchange.Action] {
        events.map { exchange.handle($0) }
    }

    private static let connected = BrokerLink.Event.connected(.five, sessionPresent: false)

    @Test("it is published after the retained report has arrived, on one connection")
    mutating func published() {
        let error = MQTTError(.connectionLost, "lost")
        let actions = actions([
            Self.connected, .subscribed(id: 1, isGranted: true), .disconnected(error, retryIn: .zero), Self.connected,
            .subscribed(id: 2, isGranted: true), .subscribed(id: 3, isGranted: true), .published(id: 4, refusal: nil),
        ])
        #expect(
            actions == [.subscribe, .subscribe, .wait, .subscribe, .subscribe, .publish, .end(isReported: true)])
    }

    @Test("it is not published if another collector has reported, or if this cannot be known")
    mutating func notPublished() {
        let refused = actions([Self.connected, .subscribed(id: 1, isGranted: false)])
        exchange = .init()
        exchange.isReplaced = true
        let replaced = actions([
            Self.connected, .subscribed(id: 1, isGranted: true), .subscribed(id: 2, isGranted: true),
        ])
        #expect(refused == [.subscribe, .end(isReported: false)])
        #expect(replaced == [.subscribe, .subscribe, .end(isReported: true)])
    }

    @Test("a refusal is no success")
    mutating func refused() {
        let actions = actions([.published(id: 4, refusal: MQTTError(.notAuthorized, "no"))])
        #expect(actions == [.end(isReported: false)])
    }
}
