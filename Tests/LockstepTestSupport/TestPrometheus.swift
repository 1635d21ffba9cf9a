import Foundation

/// A Prometheus on a free loopback port that scrapes a target every second.
public final class TestPrometheus: Sendable {
    private let url: String
    private let program: RunningProgram
    private let promtool: String

    /// Whether Prometheus and its tool are installed.
    public static var isInstalled: Bool { Programs.isInstalled("prometheus") && Programs.isInstalled("promtool") }

    /// Starts a server.
    /// - Parameters:
    ///   - targets: the `host:port` of each target of the job `lockstep`.
    ///   - rules: the path of a file of rules, which are evaluated every second.
    fileprivate init(folder: String, targets: [String], rules: String?) throws {
        guard let path = Programs.installed("prometheus"), let promtool = Programs.installed("promtool") else {
            throw ProgramError("prometheus is not installed")
        }
        self.promtool = promtool
        let configuration = """
            global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
            rule_files: [\(rules.map { "'\($0)'" } ?? "")]
            scrape_configs:
              - job_name: lockstep
                static_configs: [{ targets: [\(targets.map { "'\($0)'" }.joined(separator: ", "))] }]

            """
        try configuration.write(toFile: folder + "/prometheus.yml", atomically: true, encoding: .utf8)
        let port = try freePort()
        url = "http://127.0.0.1:\(port)"
        program = try RunningProgram(
            path,
            [
                "--config.file=\(folder)/prometheus.yml", "--storage.tsdb.path=\(folder)/prometheus",
                "--web.listen-address=127.0.0.1:\(port)",
            ])
    }

    /// Returns the series of a query, one line each: `name{labels} => value @[time]`.
    public func query(_ expression: String) async throws -> [String] {
        let run = try await RunningProgram.run(promtool, ["query", "instant", url, expression])
        guard run.status == 0 else { throw ProgramError("\(expression): \(run.text)") }
        return run.text.split(separator: "\n").map(String.init)
    }

    /// Waits until a query has a result.
    /// - Returns: false if there is none within `limit`.
    public func waitForResult(_ expression: String, within limit: Duration = .seconds(60)) async -> Bool {
        // Until the server listens, promtool fails.
        await eventually(within: limit) { ((try? await query(expression)) ?? []).isEmpty == false }
    }

    /// The log of the server.
    public var log: String { program.text }

    fileprivate func stop() async { await program.stop() }
}

/// Calls `body` with a Prometheus that scrapes `targets`, and stops it when `body` returns or throws.
public func withPrometheus<Result>(
    scraping targets: [String], rules: String? = nil, _ body: (TestPrometheus) async throws -> Result
) async throws -> Result {
    try await withTemporaryFolder { folder in
        let prometheus = try TestPrometheus(folder: folder, targets: targets, rules: rules)
        return try await finally({ await prometheus.stop() }) { try await body(prometheus) }
    }
}
