import Foundation
import LockstepTestSupport

/// A collector or an agent with a clock, a disk and a link of its own.
final class ChaosProgram {
    let name: String
    let clock: AdjustableClock
    let disk: ReadOnlyDisk
    private let port: UInt16
    private let broker: UInt16
    private let launch: (_ url: String, _ environment: [String: String], _ arguments: [String]) throws -> RunningProgram
    private(set) var program: RunningProgram?
    private var relay: RunningProgram?

    /// - Parameters:
    ///   - database: the path of its database.
    ///   - library: the library of read-only disks.
    ///   - folder: for the files of its clock.
    ///   - broker: the port of the broker.
    ///   - launch: starts it with the address of the broker, an environment and additional arguments.
    init(
        _ name: String, database: String, library: String, folder: String, broker: UInt16,
        launch:
            @escaping (_ url: String, _ environment: [String: String], _ arguments: [String]) throws -> RunningProgram
    ) async throws {
        self.name = name
        let clockFolder = "\(folder)/clock of \(name)".replacingOccurrences(of: " ", with: "-")
        try FileManager.default.createDirectory(atPath: clockFolder, withIntermediateDirectories: true)
        clock = try await AdjustableClock(in: clockFolder)
        disk = try ReadOnlyDisk(database: database, library: library)
        port = try freePort()
        self.broker = broker
        self.launch = launch
        try connect()
    }

    var isRunning: Bool { program?.isRunning ?? false }

    func start(_ arguments: [String] = []) throws {
        var environment = clock.environment.merging(disk.environment) { first, _ in first }
        environment["LD_PRELOAD"] = [clock.environment, disk.environment].compactMap { $0["LD_PRELOAD"] }
            .joined(separator: ":")
        program = try launch("mqtt://127.0.0.1:\(port)", environment, arguments)
    }

    func stop(_ signal: Int32) async { await program?.stop(signal) }

    /// Starts the link.
    private func connect() throws {
        guard let socat = Programs.installed("socat") else { throw ProgramError("socat is not installed") }
        relay = try RunningProgram(
            socat, ["TCP-LISTEN:\(port),bind=127.0.0.1,fork,reuseaddr", "TCP:127.0.0.1:\(broker)"])
    }

    /// Cuts the link, with all connections.
    func cut() async throws {
        disconnect()
        await relay?.waitForExit()
        try connect()
    }

    /// Ends the link.
    func disconnect() { relay?.signalGroup(SIGKILL) }
}
