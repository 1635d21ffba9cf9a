import Foundation

/// The report of the benchmark `writes`, which is written line by line.
struct WritesTable {
    let json: Bool

    private static let columns: [(title: String, width: Int, value: @Sendable (WritesResult) -> String)] = [
        ("devices", 8, { "\($0.fleet.devices)" }),
        ("Hz", 6, { fixed($0.fleet.rate, digits: $0.fleet.rate < 1 ? 1 : 0) }),
        ("messages/s", 10, { fixed($0.fleet.messageRate, digits: 0) }),
        ("sync", 6, { $0.sync }),
        ("rows MB", 7, { fixed(Double($0.rowBytes) / 1e6, digits: 1) }),
        ("written MB", 10, { fixed(Double($0.total.written) / 1e6, digits: 1) }),
        ("written/row", 11, { fixed($0.amplification, digits: 2) }),
        ("live", 7, { fixed($0.liveAmplification, digits: 2) }),
        ("wchar/row", 9, { fixed($0.passedAmplification, digits: 2) }),
        ("C", 5, { fixed($0.appendedAmplification, digits: 2) }),
        ("ratio to C", 10, { fixed($0.ratio, digits: 1) }),
        ("commits/s", 9, { fixed(Double($0.commits) / $0.seconds, digits: 1) }),
        ("µs/sample", 9, { fixed($0.cpuPerSample, digits: 2) }),
        ("µs/message", 10, { fixed($0.cpuPerMessage, digits: 1) }),
        ("C µs/sample", 11, { fixed($0.appendedCPUPerSample, digits: 3) }),
        ("late s", 6, { fixed($0.lateness, digits: 2) }),
        ("stolen", 6, { fixed($0.stolen, digits: 0) + " %" }),
    ]

    func writeHeader(seconds: Int, prefill: Int) {
        guard !json else { return }
        let rows = prefill > 0 ? "\(prefill) older rows of each device" : "an empty store"
        write("writes: bytes written for a byte of rows, \(seconds) s, \(rows)")
        write(line(Self.columns.map(\.title)))
    }

    func write(_ result: WritesResult) {
        guard json else { return write(line(Self.columns.map { $0.value(result) })) }
        write(
            #"{"benchmark":"writes","devices":\#(result.fleet.devices),"samples_per_message":\#(result.fleet.samples),"#
                + #""sync":"\#(result.sync)","prefill":\#(result.prefill),"seconds":\#(fixed(result.seconds, digits: 2)),"#
                + #""samples":\#(result.samples),"messages":\#(result.messages),"row_bytes":\#(result.rowBytes),"#
                + #""written":\#(result.total.written),"written_live":\#(result.live.written),"#
                + #""wchar":\#(result.total.passed),"wchar_live":\#(result.live.passed),"commits":\#(result.commits),"#
                + #""checkpoints":\#(result.checkpoints),"cpu_s":\#(fixed(result.cpu, digits: 4)),"#
                + #""cpu_total_s":\#(fixed(result.total.cpu, digits: 4)),"c_written":\#(result.appended.written),"#
                + #""c_wchar":\#(result.appended.passed),"c_cpu_s":\#(fixed(result.appended.cpu, digits: 4)),"#
                + #""late_s":\#(fixed(result.lateness, digits: 3)),"stolen":\#(fixed(result.stolen, digits: 1))}"#)
    }

    /// Writes whether a measured value is at most its goal.
    func writeGoal(_ name: String, value: Double, limit: Double) {
        let isMet = value <= limit
        guard json else {
            let verdict = isMet ? "met" : "not met"
            return write("  goal: \(name) ≤ \(fixed(limit, digits: 1)): \(fixed(value, digits: 2)), \(verdict)")
        }
        write(
            #"{"benchmark":"writes","goal":"\#(name)","value":\#(fixed(value, digits: 3)),"#
                + #""limit":\#(fixed(limit, digits: 1)),"met":\#(isMet)}"#)
    }

    private func line(_ cells: [String]) -> String {
        zip(cells, Self.columns).reduce("") { line, cell in
            let width = max(cell.1.width, cell.1.title.count)
            return line + String(repeating: " ", count: max(0, width - cell.0.count) + 2) + cell.0
        }
    }

    /// Writes a line at once. `print` would buffer it unless the output is a terminal.
    private func write(_ line: String) {
        StatusLine.clear()
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
