import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepMotion

/// Smoothed tracks against the true positions of simulated bodies, and of receivers at rest.
@Suite("Smoothed tracks")
struct TrackSmootherTests {
    private struct Errors {
        var raw: [Double] = []
        var smoothed: [Double] = []

        static func rms(_ values: [Double]) -> Double {
            (values.reduce(0) { $0 + $1 * $1 } / Double(values.count)).squareRoot()
        }
    }

    private func fix(_ body: WalkingBody, _ second: Int) -> LocationFix? {
        LocationFix(
            time: Timestamp(microseconds: Int64(second) * 1_000_000),
            values: body.fix(at: Double(second), index: Int64(second)))
    }

    private func truth(_ body: WalkingBody, _ time: Int64) -> Coordinate {
        let place = body.geodetic(at: Double(time) / 1e6)
        return Coordinate(latitude: place.latitude, longitude: place.longitude)
    }

    private func smoothed(_ fixes: [LocationFix]) -> [SmoothedPosition] {
        var smoother = TrackSmoother()
        return fixes.flatMap { smoother.append($0) } + smoother.finish()
    }

    @Test("the error of simulated walks falls to less than a third, and the stated accuracy is true")
    func walks() throws {
        var errors = Errors()
        var within = 0
        for seed in 0..<10 as Range<UInt64> {
            let body = WalkingBody(seed: seed)
            let fixes = (0..<600).compactMap { fix(body, $0) }
            let positions = smoothed(fixes)
            try #require(positions.map(\.time) == fixes.map(\.time.microseconds))
            #expect(positions.count { $0.isRejected } <= 6)
            for (fix, position) in zip(fixes, positions) {
                let place = truth(body, position.time)
                errors.raw.append(fix.coordinate.distance(to: place))
                errors.smoothed.append(position.coordinate.distance(to: place))
                if position.coordinate.distance(to: place) <= position.accuracy { within += 1 }
            }
        }
        let (raw, smooth) = (Errors.rms(errors.raw), Errors.rms(errors.smoothed))
        print(
            "track: raw \(raw) m, smoothed \(smooth) m, within the accuracy \(Double(within) / Double(errors.raw.count))"
        )
        #expect(smooth < 0.3 * raw)
        #expect(Double(within) / Double(errors.raw.count) > 0.9)
    }

    @Test("outliers are rejected, and a lasting displacement is believed")
    func outliers() throws {
        let body = WalkingBody(seed: 4)
        var fixes = (0..<300).compactMap { fix(body, $0) }
        let outliers = [50, 51, 120, 200, 201, 202, 203]
        for index in outliers { fixes[index].coordinate.latitude += 0.001 }
        let positions = smoothed(fixes)
        #expect(outliers.allSatisfy { positions[$0].isRejected })
        #expect(positions.count { $0.isRejected } <= outliers.count + 2)
        for position in positions { #expect(position.coordinate.distance(to: truth(body, position.time)) < 6) }
        // The device was moved without reception.
        for index in 150..<300 { fixes[index].coordinate.longitude += 0.01 }
        let moved = smoothed(fixes)
        for index in 160..<300 where !outliers.contains(index) {
            var place = truth(body, moved[index].time)
            place.longitude += 0.01
            #expect(moved[index].coordinate.distance(to: place) < 6, "\(index)")
        }
        #expect(moved[..<149].allSatisfy { $0.coordinate.distance(to: truth(body, $0.time)) < 6 })
    }

    @Test("an absurd speed hardly changes the track", arguments: 0..<5 as Range<UInt64>)
    func absurdSpeed(seed: UInt64) throws {
        let body = WalkingBody(seed: seed)
        var fixes = (0..<300).compactMap { fix(body, $0) }
        let normal = smoothed(fixes)
        (fixes[100].speed, fixes[100].course) = (300, 90)
        (fixes[200].speed, fixes[200].course) = (40, 200)
        let absurd = smoothed(fixes)
        #expect(absurd.map(\.isRejected) == normal.map(\.isRejected))
        for (position, other) in zip(absurd, normal) {
            #expect(position.coordinate.distance(to: other.coordinate) < 1)
        }
    }

    @Test("outliers in different directions are not believed, and those of a fast vehicle are")
    func directions() throws {
        let body = WalkingBody(seed: 4)
        var fixes = (0..<200).compactMap { fix(body, $0) }
        for index in 100..<110 {
            // 110 to 220 m away.
            let angle = 2.4 * Double(index)
            let distance = index.isMultiple(of: 2) ? 0.001 : 0.002
            fixes[index].coordinate.latitude += distance * cos(angle)
            fixes[index].coordinate.longitude += distance * sin(angle) / cos(fixes[index].coordinate.latitude / 57.3)
        }
        let positions = smoothed(fixes)
        #expect(positions.indices.filter { positions[$0].isRejected && $0 >= 90 } == Array(100..<110))
        for position in positions { #expect(position.coordinate.distance(to: truth(body, position.time)) < 6) }
        // A train, without speed and course.
        let train = smoothed(
            (0..<60).map { second in
                var fix = LocationFix(
                    coordinate: Coordinate(latitude: 80 * Double(second) / 110_574, longitude: 10),
                    time: Timestamp(microseconds: Int64(second) * 1_000_000))
                fix.horizontalAccuracy = 5
                return fix
            })
        #expect(train.count == 60 && train.dropFirst(5).allSatisfy { !$0.isRejected && abs($0.speed - 80) < 2 })
    }

    @Test("speed and course stay right on a long journey north")
    func journey() throws {
        // 600 km north with 100 m/s, and 30 m/s east.
        var place = Coordinate(latitude: 45, longitude: 179)
        let fixes = (0..<600).map { index -> LocationFix in
            var fix = LocationFix(coordinate: place, time: Timestamp(microseconds: Int64(index) * 10_000_000))
            fix.horizontalAccuracy = 5
            let plane = LocalPlane(origin: place)
            place = plane.place(east: 300, north: 1000)
            return fix
        }
        var smoother = TrackSmoother()
        let positions = fixes.flatMap { smoother.append($0) } + smoother.finish()
        try #require(positions.count == fixes.count && smoother.parts == 1)
        for (position, fix) in zip(positions, fixes).dropFirst(10) {
            let course = try #require(position.course) * .pi / 180
            #expect(abs(position.speed * sin(course) - 30) < 0.5 && abs(position.speed * cos(course) - 100) < 0.5)
            #expect(position.coordinate.distance(to: fix.coordinate) < 5 && !position.isRejected)
        }
    }

    @Test("implausible accuracies and speeds do not spoil a track")
    func implausible() {
        let body = WalkingBody(seed: 3)
        var fixes = (0..<100).compactMap { fix(body, $0) }
        fixes[0].horizontalAccuracy = 1e200
        fixes[20].horizontalAccuracy = .infinity
        fixes[30].speed = 1e200
        fixes[40].horizontalAccuracy = -1
        fixes[45].horizontalAccuracy = .nan
        fixes[50].speed = -.infinity
        fixes[55].course = .infinity
        fixes[60].horizontalAccuracy = 1e-200
        var smoother = TrackSmoother()
        var positions: [SmoothedPosition] = []
        for fix in fixes {
            positions += smoother.append(fix)
            positions += smoother.append(
                StepVelocity(time: fix.time.microseconds + 500_000, speed: 1e200, heading: 1e200))
        }
        positions += smoother.finish()
        // Only the fixes that say nothing have no row.
        let expected = fixes.indices.filter { ![0, 20].contains($0) }.map { fixes[$0].time.microseconds }
        #expect(positions.map(\.time) == expected)
        for position in positions {
            #expect(position.coordinate.distance(to: truth(body, position.time)) < 6)
            #expect(position.accuracy.isFinite && position.speed.isFinite)
        }
    }

    @Test("a hard braking of a vehicle is followed")
    func braking() {
        var parameters = TrackSmootherParameters()
        parameters.acceleration = 2
        var smoother = TrackSmoother(parameters: parameters)
        var positions: [SmoothedPosition] = []
        for second in 0..<60 {
            // From 20 m/s, with 5 m/s².
            let time = min(max(0, Double(second) - 30.2), 4)
            let north = 20 * min(Double(second), 30.2) + 20 * time - 2.5 * time * time
            var fix = LocationFix(
                coordinate: Coordinate(latitude: north / 110_574, longitude: 10),
                time: Timestamp(microseconds: Int64(second) * 1_000_000))
            (fix.horizontalAccuracy, fix.speed, fix.course) = (5, 20 - 5 * time, 0)
            positions += smoother.append(fix)
        }
        positions += smoother.finish()
        #expect(positions.count == 60 && positions.dropFirst(5).allSatisfy { !$0.isRejected })
    }

    @Test("gaps are bridged by steps and heading, whatever the direction in which the device is held")
    func gaps() throws {
        var (withSteps, without): ([Double], [Double]) = ([], [])
        for seed in 0..<10 as Range<UInt64> {
            let body = WalkingBody(seed: seed)
            // 50 s without fixes, of which about 30 s are walked.
            let gap = 120..<170
            var smoother = TrackSmoother()
            var plain = TrackSmoother()
            var (positions, plainPositions): ([SmoothedPosition], [SmoothedPosition]) = ([], [])
            for second in 0..<300 {
                if !gap.contains(second), let fix = fix(body, second) {
                    positions += smoother.append(fix)
                    plainPositions += plain.append(fix)
                }
                let time = Double(second) + 0.5
                // The device points 70° to the left of the walk, and its step length is 10 % too long.
                guard body.speed(at: time) > 0.3 else { continue }
                positions += smoother.append(
                    StepVelocity(
                        time: Int64(time * 1e6), speed: 1.1 * body.speed(at: time),
                        heading: body.course(at: time) * 180 / .pi - 70))
            }
            positions += smoother.finish()
            plainPositions += plain.finish()
            let bridged = positions.filter { !$0.hasFix }
            #expect(bridged.count > 15 && bridged.allSatisfy { (119_000_000..<171_000_000).contains($0.time) })
            withSteps += bridged.map { $0.coordinate.distance(to: truth(body, $0.time)) }
            // Without steps, positions in the gap are on the line between the fixes around it.
            let before = try #require(plainPositions.last { $0.time < 120_000_000 })
            let after = try #require(plainPositions.first { $0.time >= 170_000_000 })
            without += bridged.map { position in
                let part = Double(position.time - before.time) / Double(after.time - before.time)
                let line = Coordinate(
                    latitude: before.coordinate.latitude
                        + part * (after.coordinate.latitude - before.coordinate.latitude),
                    longitude: before.coordinate.longitude
                        + part * (after.coordinate.longitude - before.coordinate.longitude))
                return line.distance(to: truth(body, position.time))
            }
        }
        let (bridged, line) = (Errors.rms(withSteps), Errors.rms(without))
        print("gap of 50 s: by steps \(bridged) m, by a line \(line) m")
        #expect(bridged < 5 && bridged < line / 3)
    }

    @Test("a recording in pieces is that of the whole, and a pause begins a new part")
    func pieces() throws {
        let body = WalkingBody(seed: 7)
        let fixes = (0..<7000).compactMap { fix(body, $0) }
        var smoother = TrackSmoother()
        var (positions, largest) = ([SmoothedPosition](), 0)
        for fix in fixes {
            positions += smoother.append(fix)
            largest = max(largest, Int(fix.time.microseconds / 1_000_000) - positions.count)
        }
        // Bounded memory: not more events than those of a piece are pending.
        #expect(largest <= 4800)
        positions += smoother.finish()
        #expect(positions.map(\.time) == fixes.map(\.time.microseconds) && smoother.parts == 1)
        let late = smoothed(Array(fixes[2000..<6000]))
        for (piece, whole) in zip(positions[3000..<5000], late[1000..<3000]) {
            #expect(piece.coordinate.distance(to: whole.coordinate) < 0.01)
        }
        var pause = TrackSmoother()
        for var fix in fixes[..<20] {
            if fix.time.microseconds >= 10_000_000 { fix.time = fix.time + 700_000_000 }
            _ = pause.append(fix)
        }
        #expect(pause.finish().count == 10 && pause.parts == 2)
    }

    @Test("repeated, late and invalid fixes are ignored, and the antimeridian and poles are crossed")
    func edges() {
        var smoother = TrackSmoother()
        func fix(_ second: Int, _ latitude: Double, _ longitude: Double, own: Int? = nil) -> LocationFix {
            var fix = LocationFix(
                coordinate: Coordinate(latitude: latitude, longitude: longitude),
                time: Timestamp(microseconds: Int64(second) * 1_000_000))
            fix.fixTime = own.map { Timestamp(microseconds: Int64($0) * 1_000_000) }
            return fix
        }
        var positions = smoother.append(fix(0, 0, 0)) + smoother.append(fix(1, 91, 0))
        #expect(smoother.finish().isEmpty && smoother.parts == 0)
        for second in 0..<20 {
            let longitude = 179.9999 + 0.00002 * Double(second)
            positions += smoother.append(fix(second, 10, longitude > 180 ? longitude - 360 : longitude, own: second))
            positions += smoother.append(fix(second, 20, 20))
            if second == 5 { positions += smoother.append(fix(second, 20, 20, own: second)) }
        }
        positions += smoother.finish()
        #expect(positions.count == 20 && positions.allSatisfy { !$0.isRejected })
        #expect(positions[0].coordinate.longitude > 179 && positions[19].coordinate.longitude < -179)
        let pole = smoothed((0..<20).map { fix($0, 90, 18 * Double($0) - 180) })
        #expect(pole.count == 20 && pole.allSatisfy { $0.coordinate.isValid && $0.accuracy.isFinite })
    }

    @Test(
        "tracks of receivers at rest do not become longer, and stay within the accuracy of their fixes",
        .enabled(if: sharedData != nil))
    func recorded() throws {
        for log in [
            "bu303-moving", "bu303-stillfix", "bu353s4", "mt3339", "navisys-gr701w", "quectel", "sirfstarv-nmea",
        ] {
            let lines = try contents(of: sharedFile("gps/\(log).log.chk")).split(whereSeparator: \.isNewline)
            var last = ""
            var fixes: [LocationFix] = []
            for line in lines where line.hasPrefix("{") && line.contains("\"TPV\"") {
                guard let latitude = number("lat", in: line), let longitude = number("lon", in: line),
                    let time = text("time", in: line), time != last
                else { continue }
                last = time
                var fix = LocationFix(
                    coordinate: Coordinate(latitude: latitude, longitude: longitude),
                    time: Timestamp(microseconds: Int64(fixes.count) * 1_000_000))
                fix.horizontalAccuracy = number("eph", in: line)
                fix.speed = number("speed", in: line)
                fix.course = number("track", in: line)
                fixes.append(fix)
            }
            try #require(fixes.count > 5, "\(log)")
            let positions = smoothed(fixes)
            #expect(positions.count == fixes.count && positions.allSatisfy { !$0.isRejected })
            func path(_ places: [Coordinate]) -> Double {
                zip(places, places.dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1) }
            }
            let (raw, smooth) = (path(fixes.map(\.coordinate)), path(positions.map(\.coordinate)))
            print("\(log): \(fixes.count) fixes, path \(raw) m, smoothed \(smooth) m")
            #expect(smooth <= raw + 0.5, "\(log)")
            for (fix, position) in zip(fixes, positions) {
                #expect(fix.coordinate.distance(to: position.coordinate) <= fix.horizontalAccuracy ?? 20, "\(log)")
            }
        }
    }

    private func text(_ name: String, in line: Substring) -> String? {
        guard let key = line.firstRange(of: "\"\(name)\":\"") else { return nil }
        return String(line[key.upperBound...].prefix { $0 != "\"" })
    }

    private func number(_ name: String, in line: Substring) -> Double? {
        guard let key = line.firstRange(of: "\"\(name)\":") else { return nil }
        return Double(line[key.upperBound...].prefix { $0.isNumber || $0 == "." || $0 == "-" })
    }
}
