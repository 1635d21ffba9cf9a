import Foundation
import LockstepHTTP
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepServe

@Suite("Tests of areas on the past")
struct RehearsalQueryTests {
    private static let start: Int64 = 1_700_000_000_000_000
    private static let hour: Int64 = 3_600_000_000

    private func query(_ parameters: String) throws -> RehearsalQuery {
        let target = try RequestTarget("/?\(parameters)")
        return try RehearsalQuery(
            QueryParameters(target.query, allowed: RehearsalQuery.parameters), ServeLimits(),
            now: Timestamp(microseconds: Self.start + 10 * Self.hour))
    }

    /// Runs the body with a reader of a store in which the device `a` crosses the date line three times, once an hour, and
    /// `b` stays.
    private func withStore(_ body: (StoreReader) throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            var batches: [ReceivedBatch] = []
            let tracks: [(String, [Double])] = [
                ("a", [179.5, -179.5, 179.5, -179.5, 179.5, -179.5]), ("b", [10, 10]),
            ]
            for (name, longitudes) in tracks {
                var block = SampleBlock(stream: .location)
                for (index, longitude) in longitudes.enumerated() {
                    block.append(
                        time: Timestamp(microseconds: Self.start + Int64(index) * Self.hour),
                        values: [0.5, longitude] + Array(repeating: Double.nan, count: 7))
                }
                batches.append(
                    ReceivedBatch(
                        device: DeviceAddress(group: .standard, device: DeviceID(unchecked: name)),
                        batch: Batch(position: nil, samples: block), receivedAt: Timestamp(microseconds: Self.start)))
            }
            _ = try SQLiteStore(path: folder + "/samples.db").write(IngestGroup(batches: batches))
            try body(StoreReader(path: folder + "/samples.db"))
        }
    }

    /// Returns the result of a query.
    /// - Parameter limit: the maximum number of positions.
    private func json(_ parameters: String, _ reader: StoreReader, limit: Int64 = 100) throws -> String {
        var query = try query(parameters)
        query.mostPositions = limit
        return String(decoding: try query.result(in: reader, QueryCancellation()).json, as: UTF8.self)
    }

    @Test("the result has the positions that were read, with an area across the date line")
    func result() async throws {
        try await withStore { reader in
            // From 179.9° E to 179° W.
            let area = "corners=0,179.9,0,-179,1,-179,1,179.9"
            let last = Self.start + 5 * Self.hour
            let devices =
                #"[{"device":"default/a","count":3,"positions":6},{"device":"default/b","count":0,"positions":2}]"#
            let found = try json("\(area)&when=enter", reader)
            #expect(
                found == #"{"count":3,"positions":8,"first":\#(Self.start),"last":\#(last),"is_cut":false,"#
                    + #""devices":\#(devices)}"#)
            #expect(try json("\(area)&when=leave", reader).hasPrefix(#"{"count":2,"#))
            #expect(
                try json("\(area)&when=enter&to=-1d&from=-2d", reader)
                    == #"{"count":0,"positions":0,"first":null,"last":null,"is_cut":false,"devices":[]}"#)
        }
    }

    @Test("of more positions than the limit, the newest are read")
    func limit() async throws {
        try await withStore { reader in
            let area = "corners=0.5,-179.5&radius=1000&when=enter"
            let first = Self.start + 3 * Self.hour
            let found = try json(area, reader, limit: 3)
            #expect(
                found.hasPrefix(#"{"count":1,"positions":3,"first":\#(first),"#) && found.contains(#""is_cut":true"#))
            #expect(try json(area, reader, limit: 8).contains(#""positions":8,"#))
        }
        #expect(try query("corners=1,1&radius=5&when=enter").mostPositions == 5_000_000)
        let corners = Array(repeating: "1,1", count: RehearsalQuery.mostCorners).joined(separator: ",")
        #expect(try query("corners=\(corners)&when=enter").mostPositions == 500_000)
    }

    @Test(
        "queries that are not an area, or are too large, are refused",
        arguments: [
            ("when=enter", "'corners'"), ("corners=1,1&when=enter", "three corners"),
            ("corners=1,1,2&when=enter", "LATITUDE"),
            ("corners=91,0&radius=5&when=enter", "LATITUDE"), ("corners=1,,1&radius=5&when=enter", "LATITUDE"),
            ("corners=1,1&radius=0&when=enter", "'radius'"), ("corners=1,1&radius=x&when=enter", "'radius'"),
            ("corners=1,1,1,2,2,2&radius=5&when=enter", "'radius'"), ("corners=1,1&radius=5", "'when'"),
            ("corners=1,1&radius=5&when=dwell", "'when'"), ("corners=1,1&radius=5&when=enter&from=-1h&to=-2h", "swap"),
            ("corners=1,1&radius=5&when=enter&from=-10y", "time"),
            ("corners=1,1&radius=5&when=enter&from=-32d", "31 days"),
            ("corners=\(String(repeating: "1,1,", count: 200))1,1&when=enter", "200 corners"),
        ])
    func refusals(_ parameters: String, _ reason: String) {
        let problem = #expect(throws: Problem.self) { try query(parameters) }
        #expect(problem?.status == 400 && problem?.detail.contains(reason) == true, "\(problem?.detail ?? "")")
    }
}
