import LockstepExport
import LockstepHTTP
import LockstepModel
import LockstepStore
import Testing

@testable import LockstepServe

@Suite("Queries of streams")
struct StreamQueryTests {
    private func query(_ parameters: String, stream: SensorStream = .accelerometer) throws -> StreamQuery {
        let target = try RequestTarget("/?\(parameters)")
        return try StreamQuery(
            device: .init(group: .standard, device: .init(validating: "a")), stream: stream,
            QueryParameters(target.query, allowed: StreamQuery.parameters), ServeLimits(),
            now: Timestamp(microseconds: 1_000_000_000_000))
    }

    @Test("the default is the samples of the last five minutes")
    func defaults() throws {
        let query = try query("")
        #expect(query.kind == .samples && query.format == .json && query.limit == nil)
        #expect(query.to - query.from == 300_000_000)
    }

    @Test("an envelope of positions becomes every n-th fix")
    func locations() throws {
        #expect(try query("points=10").kind == .envelope(10))
        #expect(try query("points=10", stream: .location).kind == .thinned(10))
    }

    @Test(
        "queries that are too large or contradict themselves are refused",
        arguments: [
            "from=-32d", "from=-40d&format=csv", "every=1s&points=1", "points=0", "points=20001", "points=x",
            "every=1ms", "every=1s&from=-1d", "from=now&to=-1s", "limit=0", "format=xml", "from=-4000d&points=5",
            "time=x", "time=collector&every=1s",
        ])
    func refusals(_ parameters: String) {
        do {
            _ = try query(parameters)
            Issue.record("accepted")
        } catch { #expect((error as? Problem)?.status == 400) }
    }

    @Test("the columns of averages and envelopes follow the number of samples")
    func columns() throws {
        #expect(try query("every=1s").exportColumns.map(\.name) == ["samples", "x", "y", "z"])
        #expect(try query("points=1").exportColumns.prefix(3).map(\.name) == ["samples", "x_min", "x_max"])
        #expect(try query("points=1", stream: .orientation).columns.isEmpty)
        #expect(try query("points=1&time=collector").exportColumns.suffix(2).map(\.name) == ["z_max", "bound_us"])
    }

    @Test("on the collector's clock, the buckets of an envelope have about the wanted length, and are not too many")
    func buckets() throws {
        let query = try query("from=0&to=1000000&points=100&time=collector")
        let near = query.envelopeOfOtherRange(
            from: Timestamp(microseconds: 500_000), to: Timestamp(microseconds: 2_000_000))
        #expect(near.points == 150 && near.width == 10_000)
        let far = query.envelopeOfOtherRange(
            from: Timestamp(microseconds: 0), to: Timestamp(microseconds: 86_400_000_000))
        #expect(far.points == 400)
    }
}
