import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep clock and --time collector")
struct ClockCommandTests {
    private static let start: Int64 = 1_700_000_000_000_000

    /// Calls `body` with a store whose device `left` is 5 s ahead.
    private func withClocks(_ body: (String) async throws -> Void) async throws {
        try await withStore { path in
            var group = IngestGroup()
            let address = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))
            for (time, offset) in [(Self.start, Int64(5_000_000)), (Self.start + 20_000, 5_000_200)] {
                let point = ClockPoint(
                    collector: CollectorID(unchecked: "main"), time: Timestamp(microseconds: time),
                    segment: Timestamp(microseconds: Self.start), offset: offset, skew: 12_500, bound: 150, skewBound: 0
                )
                group.clocks.append(DeviceClock(device: address, epoch: Epoch(unchecked: "e1"), point: point))
            }
            try write(group, to: path)
            try await body(path)
        }
    }

    @Test("lists the clocks as a table and as JSON lines")
    func list() async throws {
        try await withClocks { path in
            let table = try await lockstep(["clock"], path)
            #expect(table.status == 0)
            #expect(table.text.contains("12.500 ppm") && table.text.contains("default/left"), "\(table.text)")
            let json = try await lockstep(["clock", "--json"], path)
            #expect(json.status == 0)
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any])
            #expect(object["device"] as? String == "left")
            #expect(object["drift_ppm"] as? Double == 12.5)
            let age = try #require(object["age_s"] as? Double)
            // Both are as of now: years after the estimate, the bound is large.
            #expect(age > 60_000_000)
            #expect(abs((object["offset_us"] as? Double ?? 0) - (5_000_200 + 12.5 * age)) < 1)
            #expect((object["bound_us"] as? Double ?? 0) > 25 * age)
        }
    }

    @Test("reports a store without estimates, and an unknown group")
    func empty() async throws {
        try await withStore { path in
            let none = try await lockstep(["clock"], path)
            #expect(none.status == 0 && none.text == "no clock estimates\n")
            let json = try await lockstep(["clock", "--json"], path)
            #expect(json.status == 0 && json.text.isEmpty)
            let unknown = try await lockstep(["clock", "--group", "nowhere"], path)
            #expect(unknown.status != 0 && unknown.text.contains("no group 'nowhere'"))
        }
    }

    @Test("a query puts rows on the collector's time line with a bound")
    func query() async throws {
        try await withClocks { path in
            let result = try await lockstep(
                ["query", "accelerometer", "--time", "collector", "--csv", "--device", "left"], path)
            let first = Self.start - 5_000_000
            let lines = result.text.split(separator: "\n")
            #expect(lines.first == "group,device,stream,t,time,x,y,z,bound_us")
            #expect(lines.count == 3)
            #expect(
                lines[1].hasPrefix("default,left,motion/accelerometer,\(first),") && lines[1].hasSuffix(",150"),
                "\(lines)")
            #expect(lines[2].hasPrefix("default,left,motion/accelerometer,\(first + 9900),"), "\(lines)")
            // The range is on the collector's time line as well.
            let range = try await lockstep(
                [
                    "query", "accelerometer", "--time", "collector", "--csv", "--device", "left", "--from",
                    "\(first + 1)", "--to", "\(first + 20_000)",
                ], path)
            #expect(range.text.split(separator: "\n").count == 2, "\(range.text)")
            let limit = try await lockstep(
                ["query", "accelerometer", "--time", "collector", "--csv", "--limit", "1"], path)
            #expect(limit.text.split(separator: "\n").count(where: { $0.hasPrefix("default,") }) == 1)
        }
    }

    @Test("a device without estimates keeps its times, and a warning names it")
    func unknown() async throws {
        try await withClocks { path in
            let result = try await lockstep(
                ["query", "accelerometer", "--time", "collector", "--json", "--device", "right"], path)
            #expect(result.status == 0)
            #expect(result.text.contains(#""t":\#(Self.start),"#) && result.text.contains(#""bound_us":null"#))
            #expect(result.text.contains("no clock estimates of lab/right"), "\(result.text)")
            let every = try await lockstep(
                ["query", "accelerometer", "--time", "collector", "--every", "1s"], path)
            #expect(every.status != 0 && every.text.contains("--every is only for --time device"))
        }
    }

    @Test("an export puts samples on the collector's time line", arguments: ["csv", "ndjson"])
    func export(format: String) async throws {
        try await withClocks { path in
            let result = try await lockstep(
                ["export", "motion", "--time", "collector", "--format", format, "--device", "left"], path)
            #expect(result.status == 0, "\(result.text)")
            #expect(result.text.contains("\(Self.start - 5_000_000)"), "\(result.text)")
            #expect(result.text.contains(format == "csv" ? "accelerometer_bound_us" : #""bound_us":150"#))
            let track = try await lockstep(
                ["export", "track", "--time", "collector", "--format", "geojson", "--device", "left"], path)
            #expect(track.status == 0, "\(track.text)")
            #expect(track.text.contains("2023-11-14T22:13:15"), "\(track.text)")
        }
    }
}
