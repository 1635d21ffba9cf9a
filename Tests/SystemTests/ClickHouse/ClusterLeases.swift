import Foundation
import LockstepCollector
import LockstepTestSupport
import Testing

/// The leases of the cluster `one`, as their server has them.
struct ClusterLeases {
    private let bucket: KeyValueBucket
    let shares: [String]

    init(_ options: NATSOptions, shares: [String]) {
        bucket = KeyValueBucket("lockstep-leases", options)
        self.shares = shares
    }

    /// Waits until the leases name these collectors, each of them at least once.
    /// - Parameter logs: what to show otherwise.
    func expectOwned(
        by expected: Set<String>, within limit: Duration = .seconds(90), logs: () -> String
    ) async throws {
        var owners: [String: String] = [:]
        let isReached = await eventually(within: limit) {
            for share in shares {
                let entry = try? bucket.value(of: keyValueKey("lockstep/one/\(share)"))
                let parts = String(decoding: entry?.value ?? [], as: UTF8.self).split(separator: " ")
                owners[share] = parts.count == 2 ? parts[1].split(separator: ":").first.map(String.init) : nil
            }
            return owners.count == shares.count && Set(owners.values) == expected
        }
        try #require(isReached, "expected \(expected.sorted()), found \(owners)\n\(logs())")
    }
}

/// One NATS server, which keeps the leases of a cluster with another broker. It keeps them when it is restarted.
final class LeaseServer {
    private let folder: String
    private let port: UInt16
    private var program: RunningProgram

    var url: String { "nats://127.0.0.1:\(port)" }

    fileprivate init(in folder: String) throws {
        self.folder = folder
        port = try freePort()
        program = try Self.start(port, folder)
    }

    private static func start(_ port: UInt16, _ folder: String) throws -> RunningProgram {
        try RunningProgram(
            Programs.installed("nats-server") ?? "",
            ["--addr", "127.0.0.1", "--port", "\(port)", "--jetstream", "--store_dir", folder + "/leases"])
    }

    /// Kills the server, and starts it again.
    func restart() async throws {
        await program.stop(SIGKILL)
        program = try Self.start(port, folder)
    }

    func leases(of shares: [String]) throws -> ClusterLeases {
        ClusterLeases(NATSOptions(servers: try NATSServers(url), name: "test"), shares: shares)
    }

    fileprivate func stop() async { await program.stop(SIGKILL) }

    fileprivate func waitUntilReady() async {
        await expectEventually("\(program.text)", within: .seconds(30)) { canConnect(port: port) }
    }
}

/// Calls `body` with a running server, and stops it when `body` returns or throws.
func withLeaseServer<Result>(
    in folder: String, _ body: (_ server: LeaseServer) async throws -> Result
) async throws -> Result {
    let server = try LeaseServer(in: folder)
    return try await finally({ await server.stop() }) {
        await server.waitUntilReady()
        return try await body(server)
    }
}
