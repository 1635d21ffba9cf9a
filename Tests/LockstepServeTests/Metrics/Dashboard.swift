import Foundation
import LockstepTestSupport
import Testing

/// The parts of a Grafana dashboard that contain queries.
struct Dashboard: Decodable {
    struct Panel: Decodable {
        struct Target: Decodable { let expr: String }
        let type: String
        let title: String
        let targets: [Target]?
    }
    struct Variables: Decodable {
        struct Variable: Decodable { let definition: String? }
        let list: [Variable]
    }
    let panels: [Panel]
    let templating: Variables

    static func load() throws -> Dashboard {
        let path = Programs.source("deploy/monitoring/dashboard.json")
        let dashboard = try JSONDecoder().decode(Dashboard.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
        for panel in dashboard.panels where panel.type != "row" {
            #expect(panel.targets?.isEmpty == false, "\(panel.title) has no query")
        }
        return dashboard
    }

    /// The queries of all panels and variables, with the values that Grafana would insert.
    var queries: [String] {
        let variables = templating.list.compactMap { $0.definition }.map { definition in
            // label_values(metric, label) lists the values of a label.
            definition.replacing(/^label_values\((.*), (\w+)\)$/) { "count by (\($0.2)) (\($0.1))" }
        }
        return (panels.flatMap { $0.targets ?? [] }.map(\.expr) + variables).map { query in
            query.replacing("$__rate_interval", with: "1m").replacing("$group", with: ".*")
                .replacing("$device", with: ".*")
        }
    }
}
