import LockstepDevice
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("The altimeter")
struct AltimeterTests {
    private func pressure(_ second: Int64, _ values: Double...) -> SampleBlock {
        SampleBlock(
            stream: .pressure, times: values.indices.map { start + (second + Int64($0)) * 1_000_000 },
            columns: [values])
    }

    @Test("delivers altitude and pressure to several readers, each from altitude 0")
    func sequence() async throws {
        let source = ScriptedSource([.pressure])
        let altimeter = Altimeter(hub: SensorHub(sources: [source]))
        #expect(altimeter.isRelativeAltitudeAvailable)
        let updates = altimeter.relativeAltitudeUpdates()
        func read(_ count: Int) -> Task<[AltitudeData], any Error> {
            Task {
                var received: [AltitudeData] = []
                for try await data in updates {
                    received.append(data)
                    if received.count == count { break }
                }
                return received
            }
        }
        let first = read(2)
        try await source.deliver(pressure(0, 1013.25))
        altimeter.startRelativeAltitudeUpdates()
        try await source.deliver(pressure(1, 1012.25))
        let data = try await first.value
        #expect(data.map(\.pressure) == [1013.25, 1012.25])
        #expect(data[0].relativeAltitude == 0 && abs(data[1].relativeAltitude - 8.33) < 0.01)
        #expect(data[1].timestamp.microseconds == start + 1_000_000)
        // Started 8 m higher, so its altitude begins there.
        try await wait { altimeter.altitudeData?.relativeAltitude == 0 }
        altimeter.stopRelativeAltitudeUpdates()
        try await source.wait { $0.running == 0 }
        #expect(!altimeter.isActive && altimeter.altitudeData?.pressure == 1012.25)
    }

    @Test("is not available without pressure")
    func unavailable() async throws {
        let altimeter = Altimeter(hub: SensorHub(sources: [ScriptedSource([.accelerometer])]))
        #expect(!altimeter.isRelativeAltitudeAvailable)
        altimeter.startRelativeAltitudeUpdates()
        try await wait { altimeter.error as? SensorHubError != nil }
    }
}

@Suite("Headings of the location manager")
struct HeadingManagerTests {
    private func headings(_ second: Int64, _ degrees: [Double]) -> SampleBlock {
        var block = SampleBlock(stream: .heading)
        for (index, value) in degrees.enumerated() {
            block.append(
                time: Timestamp(microseconds: start + (second + Int64(index)) * 1_000_000),
                values: [value, index == 0 ? .nan : value + 4, 5])
        }
        return block
    }

    @Test("are passed on when they have changed by the filter, across north too")
    func filter() async throws {
        let source = ScriptedSource([.heading])
        let manager = LocationManager(hub: SensorHub(sources: [source]))
        #expect(manager.isHeadingAvailable)
        manager.headingFilter = 5
        let updates = manager.headingUpdates()
        let reading = Task {
            var received: [Heading] = []
            for try await heading in updates { received.append(heading) }
            return received
        }
        try await source.deliver(headings(0, [358, 2, 4, 8, 350]))
        source.end()
        let received = try await reading.value
        #expect(received.map(\.magneticHeading) == [358, 4, 350])
        #expect(received.map(\.trueHeading) == [nil, 8, 354])
        #expect(received.map(\.headingAccuracy) == [5, 5, 5])
    }

    @Test("can be polled between start and stop")
    func latest() async throws {
        let source = ScriptedSource([.heading])
        let manager = LocationManager(hub: SensorHub(sources: [source]))
        manager.startUpdatingHeading()
        try await source.deliver(headings(0, [120]))
        try await wait { manager.heading?.magneticHeading == 120 }
        manager.stopUpdatingHeading()
        try await source.wait { $0.running == 0 }
        #expect(!manager.isUpdatingHeading && manager.heading != nil && manager.headingError == nil)
        #expect(!LocationManager(hub: SensorHub(sources: [ScriptedSource([.location])])).isHeadingAvailable)
    }
}
