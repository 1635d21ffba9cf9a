extension Comparison {
    /// Returns the comparison as a table with a line for each side.
    /// - Parameter isQuick: Whether the rounds were shortened.
    func text(isQuick: Bool) -> String {
        let rows = sides.map { side in
            [
                side.name, number(side.values.median),
                "\(number(side.values.min() ?? 0))–\(number(side.values.max() ?? 0))",
                sides.count > 1 ? fixed(ratio(of: side), digits: 2) : "",
                side.stolen.isEmpty ? "" : fixed(side.stolen.median, digits: 0) + " %",
            ]
        }
        let isTimed = sides.contains { !$0.stolen.isEmpty }
        let header = ["", metric.unit, "spread", sides.count > 1 ? "ratio" : "", isTimed ? "stolen" : ""]
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        let lines = ([header] + rows).map { cells in
            let padded = cells.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - cells[column].count)
                return column == 0 ? cells[column] + space : space + cells[column]
            }
            var line = "  " + padded.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
        return "\(benchmark): \(metric.name), median of \(sides[0].values.count)\(isQuick ? ", quick" : "")\n"
            + lines.joined(separator: "\n") + "\n"
    }

    /// Returns the comparison as a JSON object on one line.
    /// - Parameter isQuick: Whether the rounds were shortened.
    func json(isQuick: Bool) -> String {
        let objects = sides.map { side in
            let values = side.values.map { number($0) }.joined(separator: ",")
            let stolen = side.stolen.map { fixed($0, digits: 1) }.joined(separator: ",")
            return #"{"name":"\#(side.name)","median":\#(number(side.values.median)),"values":[\#(values)],"#
                + #""ratio":\#(fixed(ratio(of: side), digits: 3)),"stolen":[\#(stolen)]}"#
        }
        return #"{"benchmark":"\#(benchmark)","metric":"\#(metric.name)","unit":"\#(metric.unit)","#
            + #""quick":\#(isQuick),"#
            + #""sides":[\#(objects.joined(separator: ","))]}"# + "\n"
    }

    private func number(_ value: Double) -> String { fixed(value, digits: metric.digits) }
}

/// Formats a number with a fixed number of decimals.
func fixed(_ value: Double, digits: Int) -> String {
    guard value.isFinite else { return "null" }
    var scale: Int64 = 1
    for _ in 0..<digits { scale *= 10 }
    let scaled = Int64((value.magnitude * Double(scale)).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    guard digits > 0 else { return "\(sign)\(scaled)" }
    let part = String(scaled % scale)
    return "\(sign)\(scaled / scale)." + String(repeating: "0", count: digits - part.count) + part
}
