import LockstepAgent
import LockstepModel
import LockstepSensors
import Testing

@Suite("The rates of published streams")
struct PublishingRatesTests {
    private func requests(
        _ rates: PublishingRates = PublishingRates(), in phase: Phase, leased: [SensorStream: Double] = [:]
    ) -> [SensorStream: SensorRequest] {
        rates.requests(in: phase, leased: leased, streams: SensorStream.builtIn)
    }

    @Test("in foreground, device motion and heading have a default rate, and other streams the rate of their source")
    func foreground() {
        let requested = requests(in: .foreground)
        #expect(requested.count == SensorStream.builtIn.count)
        #expect(requested[.deviceMotion] == SensorRequest(rate: 50))
        #expect(requested[.heading] == SensorRequest(rate: 10))
        #expect(requested.filter { $0.key.defaultRate == nil }.values.allSatisfy { $0 == .everything })
    }

    @Test(
        "in background, steps, floors, activity and battery continue, location and pressure are reduced, and other streams are off"
    )
    func background() {
        #expect(
            requests(in: .background) == [
                .steps: .everything, .floors: .everything, .activity: .everything,
                .location: SensorRequest(rate: .infinity, distance: 500),
                .pressure: SensorRequest(rate: 0.1), .altitude: SensorRequest(rate: 0.1), .battery: .everything,
            ])
    }

    @Test("while inactive or terminated, nothing is published, even with a lease")
    func inactive() {
        #expect(requests(in: .inactive, leased: [.gyroscope: 50]).isEmpty)
        #expect(requests(in: .terminated).isEmpty)
    }

    @Test("configured rates replace the defaults of their phase")
    func configured() {
        let rates = PublishingRates(
            foreground: [.gyroscope: SensorRequest(rate: 0), .accelerometer: SensorRequest(rate: 20)],
            background: [.accelerometer: SensorRequest(rate: 1), .location: SensorRequest(rate: 0)])
        let foreground = requests(rates, in: .foreground)
        #expect(foreground[.gyroscope] == nil)
        #expect(foreground[.accelerometer] == SensorRequest(rate: 20))
        #expect(foreground[.magnetometer] == .everything)
        let background = requests(rates, in: .background)
        #expect(background[.steps] == .everything)
        #expect(background[.accelerometer] == SensorRequest(rate: 1))
        #expect(background[.location] == nil)
        let withoutSteps = PublishingRates(foreground: [.steps: SensorRequest(rate: 0)])
        #expect(requests(withoutSteps, in: .background)[.steps] == nil)
    }

    @Test("a lease raises a rate and never lowers it, in foreground and background")
    func leased() {
        let rates = PublishingRates(foreground: [.accelerometer: SensorRequest(rate: 20)])
        let slower = requests(rates, in: .foreground, leased: [.accelerometer: 10, .deviceMotion: 100])
        #expect(slower[.accelerometer] == SensorRequest(rate: 20))
        #expect(slower[.deviceMotion] == SensorRequest(rate: 100))
        // The rate of the source, which is at least the leased rate.
        let all = requests(in: .foreground, leased: [.gyroscope: 200])
        #expect(all[.gyroscope] == SensorRequest(rate: .infinity, minimum: 200))
        let background = requests(in: .background, leased: [.accelerometer: 10, .location: 1])
        #expect(background[.accelerometer] == SensorRequest(rate: 10))
        #expect(background[.location]?.distance == 0)
    }
}
