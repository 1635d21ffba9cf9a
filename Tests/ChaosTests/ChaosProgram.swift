import Foundation
import LockstepTestSupport

/// A collector or an agent with a clock, a disk and a link of its own.
final class ChaosProgram {
    let name: String
    let clock: AdjustableClock
    let disk: ReadOnlyDisk
    private let link: Relay
    private let launch: (_ url: String, _ environment: [String: String], _ arguments: [String]) throws -> RunningProgram
    private(set) var program: RunningProgram?

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
        link = try Relay(to: broker)
        self.launch = launch
    }

    var isRunning: Bool { program?.isRunning ?? false }

    func start(_ arguments: [String] = []) throws {
        var environment = clock.environment.merging(disk.environment) { first, _ in first }
        environment["LD_PRELOAD"] = [clock.environment, disk.environment].compactMap { $0["LD_PRELOAD"] }
            .joined(separator: ":")
        program = try launch("mqtt://127.0.0.1:\(link.port)", environment, arguments)
    }

    func stop(_ signal: Int32) async { await program?.stop(signal) }

    /// Cuts the link, with all connections.
    func cut() throws {
        link.cut()
        try link.restore()
    }

    /// Ends the link.
    func disconnect() { link.cut() }
}
