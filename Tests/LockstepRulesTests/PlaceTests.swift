import Foundation
import LockstepModel
import LockstepMotion
import LockstepRules
import LockstepSensors
import SensorTestSupport
import Testing

@Suite struct PlaceTests {
    static let yaml = """
        places:
          home: {center: [52.5, 13.4], radius: 100}
        rules:
          in: {when: {enter: home}}
          out: {when: {leave: home}}
          stay: {when: {dwell: home, for: 10s}}
        """

    @Test("entering, leaving and staying are notified, the first fix is neither")
    func visits() throws {
        var bench = try Bench(Self.yaml)
        let walk: [Double] = [0, 50, 110, 119, 130, 200, 110, 99, 50, 20]
        for (index, north) in walk.enumerated() {
            bench.send(.location, [(monday + Double(index) * 3, fix(north: north))])
        }
        #expect(bench.events.map(\.rule) == ["out", "in"])
        #expect(bench.times == [12, 21])
        bench.send(.location, [(monday + 40, fix(north: 0))])
        #expect(bench.events.map(\.rule) == ["out", "in", "stay"])
    }

    @Test("a fix of 500 m accuracy changes nothing")
    func inaccurateFix() throws {
        var bench = try Bench(Self.yaml.replacing(", for: 10s", with: ", for: 1h"))
        for index in 0..<100 {
            let isWild = index % 3 == 1
            bench.send(
                .location,
                [(monday + Double(index), fix(north: isWild ? 400 : 0, accuracy: isWild ? 500 : 5))])
        }
        #expect(bench.events.isEmpty)
    }

    @Test("noise around the border is notified once")
    func noise() throws {
        var bench = try Bench(Self.yaml.replacing(", for: 10s", with: ", for: 1h"))
        bench.send(.location, [(monday, fix(north: 200))])
        for index in 1..<500 {
            bench.send(.location, [(monday + Double(index), fix(north: 100 + 15 * Double((index * 31) % 7 - 3) / 3))])
        }
        #expect(bench.events.map(\.rule) == ["in"])
    }

    @Test("distances to polygons are those of circles and lines, also across the date line")
    func polygons() {
        let square = [(-0.01, 179.99), (-0.01, -179.99), (0.01, -179.99), (0.01, 179.99)]
            .map { Coordinate(latitude: $0.0, longitude: $0.1) }
        let area = Area.polygon(square)
        let half = 0.01 * 111_195.0
        #expect(abs(area.signedDistance(to: Coordinate(latitude: 0, longitude: 180)) + half) < 2)
        for longitude in [-90.0, -0.005, 0, 0.005, 90] {
            let far = area.signedDistance(to: Coordinate(latitude: 0, longitude: longitude))
            #expect(far > 5_000_000, "the other side of the earth, at \(longitude)")
        }
        #expect(abs(area.signedDistance(to: Coordinate(latitude: 0, longitude: -179.98)) - half) < 2)
        #expect(
            abs(area.signedDistance(to: Coordinate(latitude: 0.02, longitude: -179.98)) - half * 2.0.squareRoot()) < 2)
        let circle = Area.circle(Coordinate(latitude: 0, longitude: 180), radius: 100)
        #expect(abs(circle.signedDistance(to: Coordinate(latitude: 0, longitude: -179.99)) - 1013) < 3)
    }

    @Test(
        "a border through a recorded track is crossed often, and notified at most once", .enabled(if: sharedData != nil)
    )
    func recordedTracks() throws {
        var crossings = 0
        for log in [
            "bu303-moving", "bu303-stillfix", "bu353s4", "mt3339", "navisys-gr701w", "quectel", "sirfstarv-nmea",
        ] {
            let lines = try contents(of: sharedFile("gps/\(log).log.chk")).split(whereSeparator: \.isNewline)
            let fixes = lines.compactMap { line -> (lat: Double, lon: Double, accuracy: Double)? in
                guard line.hasPrefix("{"), line.contains("\"TPV\""), let lat = number("lat", in: line),
                    let lon = number("lon", in: line)
                else { return nil }
                return (lat, lon, number("eph", in: line) ?? .nan)
            }
            try #require(fixes.count > 5)
            let centre = fixes[0]
            let distances = fixes.map {
                Coordinate(latitude: centre.lat - 0.001, longitude: centre.lon)
                    .distance(to: Coordinate(latitude: $0.lat, longitude: $0.lon))
            }
            for radius in Set(distances) {
                let yaml = """
                    places: {edge: {center: [\(centre.lat - 0.001), \(centre.lon)], radius: \(radius + 0.05)}}
                    rules: {in: {when: {enter: edge}}, out: {when: {leave: edge}}}
                    """
                var bench = try Bench(yaml)
                for (index, fix) in fixes.enumerated() {
                    let row = [fix.lat, fix.lon, .nan, fix.accuracy, .nan, .nan, .nan, .nan, .nan]
                    bench.send(.location, [(monday + Double(index), row)])
                }
                #expect(bench.events.count <= 1, "\(log) at \(radius)")
                let sides = distances.map { $0 <= radius + 0.05 }
                crossings += zip(sides, sides.dropFirst()).count { $0 != $1 }
            }
        }
        #expect(crossings > 30, "a plain comparison would have notified \(crossings) times")
    }

    private func number(_ name: String, in line: Substring) -> Double? {
        guard let key = line.range(of: "\"\(name)\":") else { return nil }
        return Double(line[key.upperBound...].prefix { $0.isNumber || $0 == "." || $0 == "-" })
    }
}
