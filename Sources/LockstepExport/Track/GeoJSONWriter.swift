import LockstepModel
import LockstepStore

/// Writes positions as a GeoJSON FeatureCollection (RFC 7946).
///
/// The track of a device is one Feature with a LineString, or a MultiLineString if it has gaps or crosses the 180th
/// meridian. Its times and measures are arrays beside the coordinates, as in `coordinateProperties` of Mapbox's
/// togeojson. Fixes without neighbours within the gap are Features with a Point.
///
/// The type of the geometry and the arrays after the coordinates need several passes over the samples: one to count,
/// one for the coordinates, one for each array, and one for the lone fixes.
struct GeoJSONWriter: ExportWriter {
    /// What a pass over the samples writes.
    private enum Pass: Equatable {
        case count, coordinates, times
        /// The array of a column, as an index of ``TrackFix/measures``.
        case measure(Int)
        case lone
    }

    private let columns: TrackColumns
    private var segmenter: TrackSegmenter
    private var cut = AntimeridianCut()
    private var pass = Pass.count
    private var isFirstFeature = true
    /// Whether the next element is the first one of its line, and the next line the first one of its geometry.
    private var isFirstElement = true
    private var isFirstLine = true
    private var device: DeviceAddress?
    private var contents = Contents()
    private var times = TimeWriter()

    /// The result of the first pass.
    private struct Contents {
        var lines = 0
        var loneFixes = 0
        var hasMeasure = TrackFix.measures.map { _ in false }
    }

    init(gap: Int64, columns: TrackColumns = .location) {
        self.columns = columns
        segmenter = TrackSegmenter(gap: gap)
    }

    func begin(into output: inout OutputBuffer) { output.append("{\"type\":\"FeatureCollection\",\"features\":[") }

    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        guard let fix = TrackFix(row, columns) else { return }
        device = fix.device
        for part in segmenter.add(fix) { write(part, into: &output) }
    }

    mutating func endPass(into output: inout OutputBuffer) -> Bool {
        for part in segmenter.end() { write(part, into: &output) }
        endArray(into: &output)
        guard let next = nextPass() else {
            if contents.lines > 0, pass != .lone { output.append("}}}") }
            (pass, contents, device) = (.count, Contents(), nil)
            return false
        }
        startPass(next, into: &output)
        return true
    }

    func end(into output: inout OutputBuffer) { output.append("\n]}\n") }

    private func nextPass() -> Pass? {
        let measures = contents.hasMeasure.indices.filter { contents.hasMeasure[$0] }
        var passes: [Pass] = [.count]
        if contents.lines > 0 { passes += [.coordinates, .times] + measures.map(Pass.measure) }
        if contents.loneFixes > 0 { passes.append(.lone) }
        return passes.firstIndex(of: pass).flatMap { $0 + 1 < passes.count ? passes[$0 + 1] : nil }
    }

    private mutating func startPass(_ next: Pass, into output: inout OutputBuffer) {
        let isLineOpen = pass != .count
        pass = next
        switch next {
        case .count: return
        case .coordinates:
            startFeature(into: &output)
            let type = contents.lines > 1 ? "MultiLineString" : "LineString"
            output.append("\"geometry\":{\"type\":\"\(type)\",\"coordinates\":")
        case .times:
            output.append("},\"properties\":{")
            writeNames(into: &output)
            output.append(",\"coordinateProperties\":{\"times\":")
        case .measure(let index): output.append(",\"\(TrackFix.measures[index])\":")
        case .lone:
            if isLineOpen { output.append("}}}") }
            return
        }
        if contents.lines > 1 { output.append("[") }
        isFirstLine = true
    }

    private func endArray(into output: inout OutputBuffer) {
        if contents.lines > 1, pass != .count, pass != .lone { output.append("]") }
    }

    private mutating func startFeature(into output: inout OutputBuffer) {
        output.append(isFirstFeature ? "\n{\"type\":\"Feature\"," : ",\n{\"type\":\"Feature\",")
        isFirstFeature = false
    }

    private func writeNames(into output: inout OutputBuffer) {
        if let device { output.append("\"group\":\"\(device.group)\",\"device\":\"\(device.device)\"") }
    }

    private mutating func write(_ part: TrackSegmenter.Part, into output: inout OutputBuffer) {
        switch pass {
        case .count:
            for part in cut.cut(part) { count(part) }
        case .lone:
            if case .lone(let fix) = part { writePoint(fix, into: &output) }
        case .coordinates, .times, .measure:
            for part in cut.cut(part) { writeElement(part, into: &output) }
        }
    }

    private mutating func count(_ part: TrackSegmenter.Part) {
        switch part {
        case .start(let fix):
            contents.lines += 1
            note(fix)
        case .next(let fix): note(fix)
        case .lone: contents.loneFixes += 1
        case .end: break
        }
    }

    private mutating func note(_ fix: TrackFix) {
        for (index, value) in fix.measures.enumerated() where value.isFinite { contents.hasMeasure[index] = true }
    }

    private mutating func writeElement(_ part: TrackSegmenter.Part, into output: inout OutputBuffer) {
        switch part {
        case .lone: break
        case .end: output.append("]")
        case .start(let fix):
            output.append(isFirstLine ? "[" : ",[")
            (isFirstLine, isFirstElement) = (false, true)
            writeValue(of: fix, into: &output)
        case .next(let fix): writeValue(of: fix, into: &output)
        }
    }

    private mutating func writeValue(of fix: TrackFix, into output: inout OutputBuffer) {
        if !isFirstElement { output.append(",") }
        isFirstElement = false
        switch pass {
        case .coordinates: writePosition(fix, into: &output)
        case .times: writeTime(fix, into: &output)
        case .measure(let index): output.append(json: fix.measures[index], .real)
        case .count, .lone: break
        }
    }

    private mutating func writePoint(_ fix: TrackFix, into output: inout OutputBuffer) {
        startFeature(into: &output)
        output.append("\"geometry\":{\"type\":\"Point\",\"coordinates\":")
        writePosition(fix, into: &output)
        output.append("},\"properties\":{")
        writeNames(into: &output)
        output.append(",\"time\":")
        writeTime(fix, into: &output)
        for (name, value) in zip(TrackFix.measures, fix.measures) {
            output.append(",\"\(name)\":")
            output.append(json: value, .real)
        }
        output.append("}}")
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
