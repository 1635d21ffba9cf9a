import Foundation
import LockstepTestSupport

/// Hosts on one switch, between which packets can be dropped. Needs the rights of root.
///
/// Each host is a network namespace, in which `/etc/hosts` has the names of all hosts. The namespaces end with their
/// processes, and nothing changes in the network of the machine.
final class TestNetwork {
    /// A network that connects all hosts. Each host has an address in both.
    enum Segment: Int, CaseIterable {
        case main
        /// For connections that can be cut while others between the same hosts last. Its names begin with `other-`.
        case other
    }

    private struct Host {
        let number: Int
        /// A process that keeps the namespaces of the host.
        let keeper: RunningProgram

        func address(in segment: Segment) -> String { "10.99.\(segment.rawValue).\(number)" }
    }

    private var hosts: [String: Host] = [:]
    private let hub: RunningProgram
    private var programs: [RunningProgram] = []

    /// Whether this process may create network namespaces.
    static func isAvailable() async -> Bool { await availability.value }

    /// Determined once, because the suite and each of its tests ask for it.
    private static let availability = Task {
        guard Programs.isInstalled("ip"), Programs.isInstalled("nsenter") else { return false }
        return
            (try? await withTemporaryFolder { folder in
                try await withTestNetwork(["a", "b"], in: folder) { _ in }
            }) != nil
    }

    fileprivate init(_ names: [String], in folder: String) async throws {
        let file = folder + "/hosts"
        var lines = ["127.0.0.1 localhost"]
        for (index, name) in names.enumerated() {
            lines += ["10.99.0.\(index + 1) \(name)", "10.99.1.\(index + 1) other-\(name)"]
        }
        try lines.joined(separator: "\n").appending("\n").write(toFile: file, atomically: true, encoding: .utf8)
        hub = try Self.makeNamespace("ip link add hub type bridge && ip link set hub up")
        do {
            for (index, name) in names.enumerated() {
                hosts[name] = Host(
                    number: index + 1, keeper: try Self.makeNamespace("mount --bind '\(file)' /etc/hosts"))
            }
            for host in [hub] + hosts.values.map(\.keeper) {
                guard await host.waitForOutput("ready"), host.isRunning else { throw ProgramError(host.text) }
            }
            for host in hosts.values { try await connect(host) }
        } catch {
            await stop()
            throw error
        }
    }

    private static func makeNamespace(_ commands: String) throws -> RunningProgram {
        try RunningProgram(
            Programs.installed("unshare") ?? "",
            ["--net", "--mount", "sh", "-ec", "ip link set lo up; \(commands); echo ready; exec sleep infinity"])
    }

    private func connect(_ host: Host) async throws {
        let port = "port\(host.number)"
        try await Self.execute(
            "ip link add \(port) type veth peer name eth0 netns \(host.keeper.pid); ip link set \(port) master hub up",
            at: hub)
        try await Self.execute(
            Segment.allCases.map { "ip address add \(host.address(in: $0))/24 dev eth0; " }.joined()
                + "ip link set eth0 up", at: host.keeper)
    }

    private static func execute(_ commands: String, at keeper: RunningProgram) async throws {
        let run = try await RunningProgram.run(
            Programs.installed("nsenter") ?? "", ["--net=/proc/\(keeper.pid)/ns/net", "sh", "-ec", commands])
        guard run.status == 0 else { throw ProgramError("\(commands): \(run.text)") }
    }

    /// The program and the arguments that run a program on a host.
    private func command(_ host: String, _ path: String, _ arguments: [String]) throws -> (String, [String]) {
        guard let keeper = hosts[host]?.keeper.pid else { throw ProgramError("there is no host \(host)") }
        return (
            Programs.installed("nsenter") ?? "",
            ["--net=/proc/\(keeper)/ns/net", "--mount=/proc/\(keeper)/ns/mnt", path] + arguments
        )
    }

    /// Starts a program on a host. It is stopped with the network.
    func start(_ path: String, _ arguments: [String], on host: String) throws -> RunningProgram {
        let (path, arguments) = try command(host, path, arguments)
        let program = try RunningProgram(path, arguments)
        programs.append(program)
        return program
    }

    /// Runs a program on a host until it has ended.
    func run(
        _ path: String, _ arguments: [String], on host: String, within limit: Duration = .seconds(60)
    ) async throws -> (status: Int32, text: String) {
        let (path, arguments) = try command(host, path, arguments)
        return try await RunningProgram.run(path, arguments, within: limit)
    }

    /// Waits until a program on a host listens.
    func waitForListener(_ host: String, port: Int, from observer: String) async throws {
        let isListening = try await eventually(within: .seconds(90)) {
            try await run("/bin/bash", ["-c", "exec 3<>/dev/tcp/\(host)/\(port)"], on: observer).status == 0
        }
        guard isListening else { throw ProgramError("\(host) does not listen on \(port)") }
    }

    /// Drops all packets between a host and others in both directions.
    func cut(_ host: String, from others: [String], in segments: [Segment] = Segment.allCases) async throws {
        // Frames to this address reach no host. Unlike with a route, the sender does not notice.
        try await change(host, others, segments) {
            "ip neighbour replace \($0) lladdr 02:00:00:00:00:fe dev eth0 nud permanent"
        }
    }

    /// Lets packets pass again.
    func join(_ host: String, to others: [String], in segments: [Segment] = Segment.allCases) async throws {
        try await change(host, others, segments) { "ip neighbour delete \($0) dev eth0" }
    }

    private func change(
        _ name: String, _ others: [String], _ segments: [Segment], _ command: (_ address: String) -> String
    ) async throws {
        guard let host = hosts[name] else { throw ProgramError("there is no host \(name)") }
        let others = try others.map { name in
            guard let other = hosts[name] else { throw ProgramError("there is no host \(name)") }
            return other
        }
        func commands(_ hosts: [Host]) -> String {
            hosts.flatMap { host in segments.map { command(host.address(in: $0)) } }.joined(separator: "; ")
        }
        try await Self.execute(commands(others), at: host.keeper)
        for other in others { try await Self.execute(commands([host]), at: other.keeper) }
    }

    fileprivate func stop() async {
        for program in programs + hosts.values.map(\.keeper) + [hub] {
            program.signal(SIGKILL)
            await program.waitForExit()
        }
    }
}

/// Calls `body` with hosts of the given names, and stops their programs when `body` returns or throws.
func withTestNetwork<Result>(
    _ names: [String], in folder: String, _ body: (TestNetwork) async throws -> Result
) async throws -> Result {
    let network = try await TestNetwork(names, in: folder)
    return try await finally({ await network.stop() }) { try await body(network) }
}
