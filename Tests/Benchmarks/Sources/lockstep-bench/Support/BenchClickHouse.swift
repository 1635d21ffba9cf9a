import Foundation
import LockstepSystem

/// A ClickHouse server on random ports.
struct BenchClickHouse {
    /// The port of the HTTP interface.
    let port: Int
    /// The port of `clickhouse-client`.
    let clientPort: Int
    /// The server closes all inherited descriptors. Foundation's `Process` would take that for its end, and then wait for the
    /// real end before it observes another process.
    private let process: AccountedProcess

    /// - Parameters:
    ///   - folder: The folder of its files.
    ///   - more: Further elements of its settings.
    init(in folder: String, settings more: String = "") throws {
        guard FileManager.default.isExecutableFile(atPath: "/usr/sbin/clickhouse-server") else {
            throw Failure("clickhouse-server is missing: install the packages clickhouse-server and clickhouse-client")
        }
        port = Int(try freePort())
        clientPort = Int(try freePort())
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let settings = ClickHouseSettings(
            folder: folder, port: UInt16(port), nativePort: UInt16(clientPort), more: more)
        try settings.text.write(toFile: folder + "/server.xml", atomically: true, encoding: .utf8)
        try settings.users.write(toFile: settings.usersFile, atomically: true, encoding: .utf8)
        process = try AccountedProcess("/usr/sbin/clickhouse-server", ["--config-file=\(folder)/server.xml"])
        // With replicas, it starts only when the keeper answers.
        let query = more.isEmpty ? "SELECT 1" : "SELECT count() FROM system.zookeeper WHERE path = '/'"
        do {
            try waitUntil("clickhouse-server starts", seconds: 60, every: 100) { (try? execute(query)) != nil }
        } catch {
            process.discard()
            throw error
        }
    }

    func stop() { process.discard() }

    /// The CPU time used so far, in s.
    func cpuTime() throws -> Double { try process.account().cpu }

    /// Executes a statement and returns its result as text.
    @discardableResult
    func execute(_ statement: String) throws -> String {
        try Launched.run(
            "curl", ["--silent", "--fail", "--data-binary", statement, "http://127.0.0.1:\(port)/"])
    }

    /// The number of rows in the tables of samples. It is read from the list of files, which costs little.
    func storedRows() throws -> Int { try sampleFigure("rows") }

    /// Returns the sum of a column of `system.parts` for the tables of samples.
    func sampleFigure(_ column: String) throws -> Int {
        let text = try execute(
            """
            SELECT sum(\(column)) FROM system.parts WHERE active AND database = 'lockstep'
            AND table IN ('received_accelerometer', 'received_gyroscope', 'received_magnetometer')
            """)
        return Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
    }
}
