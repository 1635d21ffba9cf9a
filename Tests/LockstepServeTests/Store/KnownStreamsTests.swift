import Foundation
import LockstepClickHouse
import LockstepHTTP
import LockstepLive
import LockstepModel
import LockstepStore
import LockstepTestSupport
import LockstepWire
import Logging
import Testing

@testable import LockstepServe

@Suite("Streams that the store declares")
struct KnownStreamsTests {
    private let picture = LivePicture(root: .standard)

    private func stream(_ name: String, _ unit: String = "ppm") throws -> SensorStream {
        try SensorStream(
            declaring: name, summary: "",
            columns: [.init(declaring: "level", kind: .real, unit: unit, isRequired: true, summary: "")])
    }

    @Test("the settings take precedence over the store")
    func precedence() throws {
        let streams = KnownStreams(try StreamCatalog(declared: [stream("x/a")]), picture: picture)
        streams.use(stored: try StreamCatalog(declared: [stream("x/a", "m"), stream("x/b")]))
        #expect(streams.catalog.declared.map(\.name) == ["x/a", "x/b"])
        #expect(streams.catalog.stream(named: "x/a")?.columns[0].unit == "ppm")
    }

    @Test("they are known as soon as the store can be read, also to the live picture")
    func laterStore() async throws {
        let co2 = try stream("x/co2")
        try await withTemporaryFolder { folder in
            let path = folder + "/samples.db"
            let pool = StorePool(.sqlite(path: path), threads: 1, maxWaiting: 10)
            defer { pool.stop() }
            let streams = KnownStreams(.builtIn, picture: picture)
            let history = HistoryRoutes(store: pool, picture: picture, knownStreams: streams)
            await #expect { try await history.stream(named: "x/co2") } throws: { ($0 as? Problem)?.status == 503 }
            await #expect { try await history.stream(named: "nose") } throws: { ($0 as? Problem)?.status == 404 }

            _ = try SQLiteStore(path: path, catalog: StreamCatalog(declared: [co2]))
            #expect(try await history.stream(named: "x/co2").name == "x/co2")
            await #expect { try await history.stream(named: "x/o3") } throws: { ($0 as? Problem)?.status == 404 }
            #expect(isReadable(co2))
        }
    }

    @Test("the seeder reads them when the store appears, and those that are added later")
    func seeder() async throws {
        let (co2, o3) = (try stream("x/co2"), try stream("x/o3"))
        try await withTemporaryFolder { folder in
            let (path, link) = (folder + "/samples.db", folder + "/link.db")
            let pool = StorePool(.sqlite(path: link), threads: 1, maxWaiting: 10)
            defer { pool.stop() }
            let streams = KnownStreams(.builtIn, picture: picture)
            let seeder = StoreSeeder(
                store: pool, picture: picture, knownStreams: streams, logger: Logger(label: "test"),
                interval: .milliseconds(10))
            let run = Task { await seeder.run() }
            defer { run.cancel() }
            #expect(!isReadable(co2))
            _ = try SQLiteStore(path: path, catalog: StreamCatalog(declared: [co2]))
            // The store appears as a whole, so that nobody reads it while its tables are created.
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            await expectEventually("the stream of the store") { isReadable(co2) && !isReadable(o3) }
            _ = try SQLiteStore(path: path, catalog: StreamCatalog(declared: [co2, o3]))
            await expectEventually("the stream that was added") { isReadable(o3) }
            #expect(streams.catalog.declared.map(\.name) == ["x/co2", "x/o3"])
        }
    }

    /// Whether the picture can decode a message with a sample of a stream.
    private func isReadable(_ stream: SensorStream) -> Bool {
        let batch = Batch(position: nil, samples: SampleBlock(stream: stream, times: [1], columns: [[1]]))
        return BatchEncoding.cbor.encode(batch).withUnsafeBytes { payload in
            let change = picture.handle(
                topic: "lockstep/lab/a/\(stream.name)", payload: payload, contentType: nil, at: .now())
            if case .samples = change { return true }
            return false
        }
    }
}
