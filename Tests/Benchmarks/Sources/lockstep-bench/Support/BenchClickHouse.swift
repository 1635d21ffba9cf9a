import Foundation

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
        port = try freePort()
        clientPort = try freePort()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let settings = """
            <yandex>
                <logger><level>error</level><console>1</console></logger>
                <listen_host>127.0.0.1</listen_host>
                <http_port>\(port)</http_port>
                <tcp_port>\(clientPort)</tcp_port>
                <path>\(folder)/data/</path>
                <tmp_path>\(folder)/tmp/</tmp_path>
                <mark_cache_size>67108864</mark_cache_size>
                <users_config>\(folder)/users.xml</users_config>
                <default_profile>default</default_profile>
                <default_database>default</default_database>
                \(more)
            </yandex>
            """
        let users = """
            <yandex>
                <profiles><default/></profiles>
                <quotas><default/></quotas>
                <users>
                    <default>
                        <password></password><networks><ip>127.0.0.1</ip></networks>
                        <profile>default</profile><quota>default</quota>
                    </default>
                </users>
            </yandex>
            """
        try settings.write(toFile: folder + "/server.xml", atomically: true, encoding: .utf8)
        try users.write(toFile: folder + "/users.xml", atomically: true, encoding: .utf8)
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
