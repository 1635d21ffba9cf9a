import LockstepDevice
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Synchronization
import Testing

@Suite("The altimeter")
struct AltimeterTests {
    private func pressure(_ second: Int64, _ values: Double...) -> SampleBlock {
        SampleBlock(
            stream: .pressure, times: values.indices.map { start + (second + Int64($0)) * 1_000_000 },
            columns: [values])
    }

    @Test("delivers altitude and pressure to several readers, and the first altitude of each is 0")
    func sequence() async throws {
        let source = ScriptedSource([.pressure])
        let altimeter = Altimeter(hub: SensorHub(sources: [source]))
        #expect(altimeter.isRelativeAltitudeAvailable)
        altimeter.startRelativeAltitudeUpdates()
        try await source.deliver(pressure(0, 1013.25))
        try await wait { altimeter.altitudeData?.pressure == 1013.25 }
        #expect(altimeter.altitudeData?.relativeAltitude == 0)
        #expect(altimeter.altitudeData?.timestamp.microseconds == start)
        try await source.deliver(pressure(1, 1012.25))
        try await wait { altimeter.altitudeData?.pressure == 1012.25 }
        #expect(abs((altimeter.altitudeData?.relativeAltitude ?? 0) - 8.33) < 0.01)

        // The first altitude of a reader that starts 8 m higher is 0 as well.
        let updates = altimeter.relativeAltitudeUpdates()
        let isRead = Mutex(false)
        let reading = Task {
            defer { isRead.withLock { $0 = true } }
            for try await data in updates { return data.relativeAltitude }
            return .nan
        }
        var second: Int64 = 2
        while !isRead.withLock({ $0 }) {
            // Repeat the delivery: samples before the reader's subscription are not delivered to it.
            try await source.deliver(pressure(second, 1012.25))
            second += 1
            await Task.yield()
        }
        #expect(try await reading.value == 0)
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

    @Test("are passed on when they have changed by the filter value, also across north")
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

    @Test("can be polled between start and stop, and afterwards")
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
