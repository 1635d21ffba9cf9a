import LockstepAgent
import LockstepModel
import LockstepSensors
import Testing

@Suite("What an agent publishes")
struct PublishingRatesTests {
    private func requests(
        _ rates: PublishingRates = PublishingRates(), in phase: Phase, leased: [SensorStream: Double] = [:]
    ) -> [SensorStream: SensorRequest] {
        rates.requests(in: phase, leased: leased, streams: SensorStream.builtIn)
    }

    @Test("in the foreground is all that its sources give, and device motion at a rate of its own")
    func foreground() {
        let asked = requests(in: .foreground)
        #expect(asked.count == SensorStream.builtIn.count)
        #expect(asked[.deviceMotion] == SensorRequest(rate: PublishingRates.deviceMotionRate))
        #expect(asked.filter { $0.key != .deviceMotion }.values.allSatisfy { $0 == .everything })
    }

    @Test("in background is steps, and location where it has changed significantly")
    func background() {
        #expect(
            requests(in: .background) == [
                .steps: .everything,
                .location: SensorRequest(rate: .infinity, distance: PublishingRates.significantChange),
            ])
    }

    @Test("while inactive or at the end is nothing, whatever is leased")
    func inactive() {
        #expect(requests(in: .inactive, leased: [.gyroscope: 50]).isEmpty)
        #expect(requests(in: .terminated).isEmpty)
    }

    @Test("follows what it is told, phase by phase")
    func told() {
        let rates = PublishingRates(
            foreground: [.gyroscope: SensorRequest(rate: 0), .accelerometer: SensorRequest(rate: 20)],
            background: [.accelerometer: SensorRequest(rate: 1), .location: SensorRequest(rate: 0)])
        let foreground = requests(rates, in: .foreground)
        #expect(foreground[.gyroscope] == nil)
        #expect(foreground[.accelerometer] == SensorRequest(rate: 20))
        #expect(foreground[.magnetometer] == .everything)
        #expect(requests(rates, in: .background) == [.steps: .everything, .accelerometer: SensorRequest(rate: 1)])
        let quiet = PublishingRates(foreground: [.steps: SensorRequest(rate: 0)])
        #expect(requests(quiet, in: .background)[.steps] == nil)
    }

    @Test("is raised by a lease and never lowered, in background too")
    func leased() {
        let rates = PublishingRates(foreground: [.accelerometer: SensorRequest(rate: 20)])
        let slower = requests(rates, in: .foreground, leased: [.accelerometer: 10, .deviceMotion: 100])
        #expect(slower[.accelerometer] == SensorRequest(rate: 20))
        #expect(slower[.deviceMotion] == SensorRequest(rate: 100))
        // All that the source gives, of a source that gives at least so much.
        let all = requests(in: .foreground, leased: [.gyroscope: 200])
        #expect(all[.gyroscope] == SensorRequest(rate: .infinity, minimum: 200))
        let background = requests(in: .background, leased: [.accelerometer: 10, .location: 1])
        #expect(background[.accelerometer] == SensorRequest(rate: 10))
        #expect(background[.location]?.distance == 0)
    }
}
