import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Source specifications")
struct SourceSpecificationTests {
    @Test(
        "each form of specification creates a source with the full name",
        arguments: [
            ("iio", "iio"), ("battery", "battery"), ("simulate", "simulate:1"), ("simulate:7", "simulate:7"),
            ("simulate:7:shake", "simulate:7:shake"), ("simulate:fall", "simulate:1:fall"),
            ("simulate:7:walk", "simulate:7"),
            ("gpsd", "gpsd://localhost:2947"),
            ("gpsd://box", "gpsd://box:2947"), ("gpsd://192.0.2.7:3000", "gpsd://192.0.2.7:3000"),
            ("gpsd://[2001:db8::1]:3000", "gpsd://[2001:db8::1]:3000"), ("gpsd://[::1]", "gpsd://[::1]:2947"),
            ("gpsd://box:3000/dev/ttyUSB0", "gpsd://box:3000/dev/ttyUSB0"),
            ("gpsd://box/dev/ttyUSB0", "gpsd://box:2947/dev/ttyUSB0"),
            ("gpsd://[::1]:3000:/dev/ttyACM0", "gpsd://[::1]:3000/dev/ttyACM0"),
            ("gpsd:///dev/gps0", "gpsd://localhost:2947/dev/gps0"),
            ("gpsd://box:3000/tcp://10.0.0.7:4000", "gpsd://box:3000/tcp://10.0.0.7:4000"),
            ("gpsd://:3000", "gpsd://localhost:3000"), ("gpsd://", "gpsd://localhost:2947"),
        ])
    func names(text: String, name: String) throws {
        #expect(try SensorSources.make(text).name == name)
    }

    @Test(
        "an invalid specification is rejected with the supported forms",
        arguments: [
            (
                "foo",
                "unknown source 'foo': use iio, battery, simulate[:seed][:motion], replay:FILE or gpsd[://host:port[/device]]"
            ),
            (
                "",
                "unknown source '': use iio, battery, simulate[:seed][:motion], replay:FILE or gpsd[://host:port[/device]]"
            ),
            ("iio:0", "'iio:0': use 'iio' alone, it covers all sensors of this machine"),
            ("battery:BAT0", "'battery:BAT0': use 'battery' alone, it covers all batteries of this machine"),
            ("replay", "'replay' names no file: use replay:FILE"),
            ("replay:", "'replay:' names no file: use replay:FILE"),
            (
                "simulate:x",
                "'simulate:x' has no seed from 0 to 18446744073709551615 or no known motion: use simulate[:seed][:motion] "
                    + "with the motion walk, shake, turn, drive, fall"
            ),
            ("gpsd:box", "'gpsd:box' is not an address of gpsd: use gpsd[://host:port[/device]]"),
            ("gpsd://box:0", "'gpsd://box:0' is not an address of gpsd: use gpsd[://host:port[/device]]"),
            ("gpsd://box:70000", "'gpsd://box:70000' is not an address of gpsd: use gpsd[://host:port[/device]]"),
            ("gpsd://box/x", "'gpsd://box/x' is not an address of gpsd: use gpsd[://host:port[/device]]"),
            ("gpsd://[::1", "'gpsd://[::1' is not an address of gpsd: use gpsd[://host:port[/device]]"),
        ])
    func errors(text: String, message: String) throws {
        let error = try #require(throws: SourceSpecificationError.self) { _ = try SensorSources.make(text) }
        #expect(error.description == message)
    }

    @Test("options are passed to the source")
    func options() async throws {
        let options = SourceOptions(
            speed: .maximum, stamping: .own, simulatedRate: 25, sysfsRoot: "/a", devRoot: "/b", linger: 70_000)
        try await withFile("t_us,x_g,y_g,z_g\n0,0,0,-1\n") { file in
            let replay = try #require(SensorSources.make("replay:\(file)", options: options) as? ReplaySource)
            #expect(replay.speed == .maximum && replay.stamping == .own && replay.file == file)
            #expect(replay.linger == 70_000)
        }
        #expect(try (SensorSources.make("gpsd", options: options) as? GpsdSource)?.stamping == .own)
        for text in ["simulate", "simulate:7"] {
            let simulator = try #require(SensorSources.make(text, options: options) as? SimulatedSource)
            #expect(simulator.rate == 25 && simulator.linger == 70_000)
        }
        let iio = try #require(SensorSources.make("iio", options: options) as? IIOSource)
        #expect(iio.sysfsRoot == "/a" && iio.devRoot == "/b" && iio.linger == 70_000)
        #expect(throws: SourceSpecificationError.self) {
            _ = try SensorSources.make("simulate", options: SourceOptions(simulatedRate: 0))
        }
    }

    @Test("the default linger is 50 ms")
    func defaultLinger() async throws {
        #expect(SourceOptions().linger == 50_000)
        #expect(SimulatedSource().linger == 50_000)
        #expect(IIOSource(sysfsRoot: "/a", devRoot: "/b").linger == 50_000)
        let replay = try await withFile("t_us,x_g,y_g,z_g\n0,0,0,-1\n") { try ReplaySource(file: $0) }
        #expect(replay.linger == 50_000)
    }

    @Test("a speed is max or a number above 0")
    func speeds() {
        #expect(ReplaySpeed("max") == .maximum)
        #expect(ReplaySpeed("1") == .realTime)
        #expect(ReplaySpeed("2.5") == .times(2.5))
        for text in ["0", "-1", "inf", "nan", "fast", ""] { #expect(ReplaySpeed(text) == nil) }
    }
}
