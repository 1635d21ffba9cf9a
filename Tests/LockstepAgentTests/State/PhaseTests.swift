import LockstepModel
import LockstepMotion
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("The agent's phases, rates and sources")
struct PhaseTests {
    private var loop = FakeLoop()

    @Test("a change of phase is logged, published and sets the rates")
    mutating func change() {
        let initial = loop.rates
        loop.send(.item(.phase(.background, reason: "signal")))
        let changed = loop.take()
        loop.send(.item(.phase(.background, reason: "command")))
        let unchanged = loop.take()
        #expect(initial == [.gyroscope: .infinity] && loop.rates.isEmpty)
        #expect(changed == ["info: phase changed signal", "presence background (signal)", "set rates"])
        #expect(unchanged.isEmpty)
    }

    @Test("rates are set on the sources only if they have changed")
    mutating func unchangedRates() {
        loop = FakeLoop(streams: [.location])
        loop.send(.item(.phase(.background, reason: "signal")))
        #expect(loop.take() == ["info: phase changed signal", "presence background (signal)"])
    }

    @Test("a source status is published, and logged if its kind has changed")
    mutating func status() {
        loop.connect()
        _ = loop.take()
        loop.send(.item(.status(.running, source: "a")))
        loop.send(.item(.status(.running, source: "a")))
        let logged = loop.take()
        loop.turn(after: 999_999)
        let early = loop.take()
        loop.turn(after: 1)
        let published = loop.take()
        #expect(logged == ["info: source status"] && early.isEmpty)
        #expect(published == ["presence foreground (reconnect)"])
        #expect(loop.presences.last?.sources == ["a": "running"])
    }

    @Test("a source that cannot reach its hardware is logged as a warning")
    mutating func unavailable() {
        loop.connect()
        _ = loop.take()
        loop.send(.item(.status(.unavailable("Connection refused"), source: "gpsd")))
        #expect(loop.take() == ["warning: source status"])
    }

    @Test("the status of a derived stream is in the presence only while the stream is active")
    mutating func derivedStatus() {
        loop = FakeLoop(streams: [.accelerometer, .magnetometer, .location]) {
            $0.derived.deviceMotion.referenceFrame = .trueNorth
            $0.rates.background[.deviceMotion] = SensorRequest(rate: 0)
        }
        let active = loop.state.presence.sources["motion/device"]
        loop.send(.item(.phase(.background, reason: "signal")))
        #expect(active?.hasPrefix("degraded: declination unknown") == true)
        #expect(loop.state.presence.sources["motion/device"] == nil)
    }

    @Test("the presence is published at each heartbeat interval, but only while there is a connection")
    mutating func heartbeat() {
        loop.turn(after: 60_000_000)
        let disconnected = loop.take()
        loop.connect()
        _ = loop.take()
        loop.turn(after: 29_999_999)
        let early = loop.take()
        loop.turn(after: 1)
        let due = loop.take()
        loop.turn(after: 1)
        #expect(disconnected.isEmpty && early.isEmpty && due == ["presence foreground (reconnect)"])
        #expect(loop.take().isEmpty)
    }

    @Test("when the last source ends, its samples are written at once")
    mutating func sourceEnded() {
        loop.add([1])
        loop.send(.item(.sourceEnded(source: "a", nil)))
        #expect(loop.take() == ["write 1", "live 1"])
        #expect(loop.state.presence.sources == ["a": "ended"])
    }

    @Test("the window continues while another source runs")
    mutating func otherSource() {
        loop = FakeLoop(sources: 2)
        loop.add([1])
        loop.send(.item(.sourceEnded(source: "a", nil)))
        loop.turn()
        #expect(loop.take().isEmpty && !loop.state.isStopping)
    }

    @Test("the agent stops when all sources have ended and everything is acknowledged")
    mutating func completion() {
        loop.connect()
        loop.add([1])
        loop.send(.item(.sourceEnded(source: "a", nil)))
        _ = loop.take()
        loop.turn()
        loop.turn()
        let waiting = loop.take()
        let isStopping = loop.state.isStopping
        loop.acknowledge(through: 1)
        loop.turn()
        #expect(waiting == ["info: all sources ended, waiting for acknowledgements"] && !isStopping)
        let complete = loop.take()
        loop.turn()
        #expect(complete == ["info: all sources ended and all batches acknowledged"] && loop.state.isStopping)
        #expect(loop.take().isEmpty)
    }

    @Test("the agent does not stop while samples in memory are not written")
    mutating func unsaved() {
        loop.writeError = outboxError
        loop.add([1])
        loop.send(.item(.sourceEnded(source: "a", nil)))
        loop.turn()
        #expect(loop.state.delivery.isEmpty && !loop.state.isStopping)
    }

    @Test("the first error of a source is kept, logged and reported")
    mutating func sourceError() {
        loop = FakeLoop(sources: 2)
        struct First: Error {}
        loop.send(.item(.sourceEnded(source: "a", First())))
        loop.send(.item(.sourceEnded(source: "b", outboxError)))
        #expect(loop.take() == ["error: source failed", "error: source failed"])
        #expect(loop.state.sourceError is First && loop.state.presence.sources.count == 2)
    }

    @Test("a stop item ends the loop")
    mutating func stop() {
        loop.send(.item(.stop))
        #expect(loop.state.isStopping && loop.take().isEmpty)
    }
}
