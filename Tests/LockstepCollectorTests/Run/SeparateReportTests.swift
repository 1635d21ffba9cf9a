import LockstepMQTT
import Testing

@testable import LockstepCollector

@Suite("The report of a collector that has no connection")
struct SeparateReportTests {
    private var exchange = SeparateReport.Exchange(replacesOther: false)

    private mutating func actions(_ events: [BrokerLink.Event]) -> [SeparateReport.Exchange.Action] {
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
        exchange = .init(replacesOther: false)
        exchange.isReplaced = true
        let replaced = actions([
            Self.connected, .subscribed(id: 1, isGranted: true), .subscribed(id: 2, isGranted: true),
        ])
        #expect(refused == [.subscribe, .end(isReported: false)])
        #expect(replaced == [.subscribe, .subscribe, .end(isReported: true)])
    }

    @Test("of a collector that replaces another one, it is published at once")
    mutating func replacing() {
        exchange = .init(replacesOther: true)
        let actions = actions([Self.connected, .published(id: 1, refusal: nil)])
        #expect(actions == [.publish, .end(isReported: true)])
    }

    @Test("a refusal is no success")
    mutating func refused() {
        let actions = actions([.published(id: 4, refusal: MQTTError(.notAuthorized, "no"))])
        #expect(actions == [.end(isReported: false)])
    }
}
