import LockstepModel
import LockstepStore

/// Writes positions as a GeoJSON FeatureCollection (RFC 7946).
///
/// Each part of a track without gaps is a Feature with a LineString. Its times and measures are arrays beside the
/// coordinates, as in `coordinateProperties` of Mapbox's togeojson. Fixes without neighbours within the gap are Features
/// with a Point.
struct GeoJSONWriter: RowWriter {
    /// The greatest number of fixes of a line, because the arrays after the coordinates need them in memory. The next line
    /// begins with the last fix.
    static let maxLine = 1_000

    private let columns: TrackColumns
    private var segmenter: TrackSegmenter
    private var cut = AntimeridianCut()
    private var line: [TrackFix] = []
    private var device: DeviceAddress?
    private var isFirstFeature = true
    private var times = TimeWriter()

    init(gap: Int64, columns: TrackColumns = .location) {
        self.columns = columns
        segmenter = TrackSegmenter(gap: gap)
    }

    func begin(into output: inout OutputBuffer) { output.append("{\"type\":\"FeatureCollection\",\"features\":[") }

    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        guard let fix = TrackFix(row, columns) else { return }
        if fix.device != device { endTrack(into: &output) }
        device = fix.device
        for part in segmenter.add(fix) { write(part, into: &output) }
    }

    mutating func end(into output: inout OutputBuffer) {
        endTrack(into: &output)
        output.append("\n]}\n")
    }

    private mutating func endTrack(into output: inout OutputBuffer) {
        for part in segmenter.end() { write(part, into: &output) }
    }

    private mutating func write(_ part: TrackSegmenter.Part, into output: inout OutputBuffer) {
        for part in cut.cut(part) {
            switch part {
            case .start(let fix): line = [fix]
            case .next(let fix):
                line.append(fix)
                guard line.count == Self.maxLine else { continue }
                writeLine(into: &output)
                line = [fix]
            case .end: if line.count > 1 { writeLine(into: &output) }
            case .lone(let fix): writePoint(fix, into: &output)
            }
        }
    }

    private mutating func writeLine(into output: inout OutputBuffer) {
        startFeature("LineString", into: &output)
        writeArray(into: &output) { $0.writePosition($1, into: &$2) }
        startProperties(of: line[0].device, into: &output)
        output.append(",\"coordinateProperties\":{\"times\":")
        writeArray(into: &output) { $0.writeTime($1, into: &$2) }
        for (index, name) in TrackFix.measures.enumerated() where line.contains(where: { $0.measures[index].isFinite })
        {
            output.append(",\"\(name)\":")
            writeArray(into: &output) { $2.append(json: $1.measures[index], .real) }
        }
        output.append("}}}")
    }

    private mutating func writePoint(_ fix: TrackFix, into output: inout OutputBuffer) {
        startFeature("Point", into: &output)
        writePosition(fix, into: &output)
        startProperties(of: fix.device, into: &output)
        output.append(",\"time\":")
        writeTime(fix, into: &output)
        for (name, value) in zip(TrackFix.measures, fix.measures) {
            output.append(",\"\(name)\":")
            output.append(json: value, .real)
        }
        output.append("}}")
    }

    private mutating func startFeature(_ geometry: String, into output: inout OutputBuffer) {
        output.append(isFirstFeature ? "\n" : ",\n")
        output.append("{\"type\":\"Feature\",\"geometry\":{\"type\":\"\(geometry)\",\"coordinates\":")
        isFirstFeature = false
    }

    private func startProperties(of device: DeviceAddress, into output: inout OutputBuffer) {
        output.append("},\"properties\":{\"group\":\"\(device.group)\",\"device\":\"\(device.device)\"")
    }

    /// Writes an array with an element for each fix of the line.
    private mutating func writeArray(
        into output: inout OutputBuffer, _ write: (inout Self, TrackFix, inout OutputBuffer) -> Void
    ) {
        var separator = "["
        for fix in line {
            output.append(separator)
            write(&self, fix, &output)
            separator = ","
        }
        output.append("]")
    }

    private func writePosition(_ fix: TrackFix, into output: inout OutputBuffer) {
        output.append("[")
        output.append(fix.longitude.description)
        output.append(",")
        output.append(fix.latitude.description)
        if let altitude = fix.altitude {
            output.append(",")
            output.append(altitude.description)
        }
        output.append("]")
    }

    private mutating func writeTime(_ fix: TrackFix, into output: inout OutputBuffer) {
        output.append("\"")
        times.write(fix.time, into: &output)
        output.append("\"")
    }
}
