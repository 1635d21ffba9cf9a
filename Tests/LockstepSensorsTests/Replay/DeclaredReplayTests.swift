import Foundation
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Replay of declared streams")
struct DeclaredReplayTests {
    private let co2: SensorStream
    private let wind: SensorStream

    init() throws {
        co2 = try SensorStream(
            declaring: "x/co2",
            columns: [
                SensorStream.Column(declaring: "ppm", kind: .real),
                SensorStream.Column(declaring: "state", kind: .choice(["ok", "warming"]), isRequired: false),
            ])
        wind = try SensorStream(declaring: "x/wind", columns: [SensorStream.Column(declaring: "speed", kind: .real)])
    }

    private func layout(_ header: String) throws -> RecordingLayout {
        try RecordingLayout(header: header, file: "a.csv", streams: StreamCatalog(declared: [co2, wind]))
    }

    @Test(
        "a declared stream is found by the names of its columns",
        arguments: ["t_us,ppm,state", "t_us,x/co2.ppm,state", "t_us,x/co2.ppm,x/co2.state"])
    func row(_ header: String) throws {
        let layout = try layout(header)
        #expect(layout.parts.map(\.stream) == [co2])
        #expect(try layout.row(Array("1,400.5,warming".utf8)[...]).values == [[400.5, 1]])
        #expect(throws: RowError.self) { try layout.row(Array("1,400.5,off".utf8)[...]) }
        #expect(try layout.row(Array("1,,".utf8)[...]).values == [nil])
    }

    @Test("a stream without a required column is not found")
    func missing() throws {
        #expect(throws: ReplayError.self) { try layout("t_us,state") }
        #expect(throws: ReplayError.self) { try RecordingLayout(header: "t_us,ppm", file: "a.csv") }
    }

    @Test("a header that may belong to two streams is rejected")
    func ambiguous() throws {
        let error = #expect(throws: ReplayError.self) { try layout("t_us,lat,lon,speed") }
        #expect(
            error?.reason
                == "the header 'speed' may belong to location or to x/wind: write 'x/wind.speed' for the latter")
        #expect(try layout("t_us,lat,lon,speed,x/wind.speed").parts.map(\.stream) == [.location, wind])
    }
}
