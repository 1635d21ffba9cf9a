import LockstepModel
import LockstepStore

/// Writes positions as GPX 1.1 (https://www.topografix.com/GPX/1/1/): a track for each device, with a segment for each
/// part without gaps.
///
/// Speed and course are extensions of Garmin's TrackPointExtension v2; the accuracies are extensions of our own
/// namespace, because GPX has only dilutions of precision.
struct GPXWriter: RowWriter {
    /// The namespace of the elements `hacc` and `vacc`, both in m.
    static let namespace = "urn:x-lockstep:gpx:1"

    private let creator: String
    private let columns: TrackColumns
    private var segmenter: TrackSegmenter
    private var device: DeviceAddress?
    private var times = TimeWriter(isShort: true)

    init(gap: Int64, creator: String, columns: TrackColumns = .location) {
        self.columns = columns
        segmenter = TrackSegmenter(gap: gap)
        self.creator = creator
    }

    func begin(into output: inout OutputBuffer) {
        output.append(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <gpx version="1.1" creator="\(creator)" xmlns="http://www.topografix.com/GPX/1/1" \
            xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v2" xmlns:lockstep="\(Self.namespace)" \
            xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
            xsi:schemaLocation="http://www.topografix.com/GPX/1/1 http://www.topografix.com/GPX/1/1/gpx.xsd">

            """)
    }

    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        guard let fix = TrackFix(row, columns) else { return }
        if fix.device != device {
            endTrack(into: &output)
            device = fix.device
            output.append("<trk>\n<name>\(fix.device)</name>\n")
        }
        for part in segmenter.add(fix) { write(part, into: &output) }
    }

    mutating func end(into output: inout OutputBuffer) {
        endTrack(into: &output)
        output.append("</gpx>\n")
    }

    private mutating func endTrack(into output: inout OutputBuffer) {
        guard device != nil else { return }
        for part in segmenter.end() { write(part, into: &output) }
        output.append("</trk>\n")
    }

    private mutating func write(_ part: TrackSegmenter.Part, into output: inout OutputBuffer) {
        switch part {
        case .start(let fix):
            output.append("<trkseg>\n")
            write(fix, into: &output)
        case .next(let fix): write(fix, into: &output)
        case .end: output.append("</trkseg>\n")
        case .lone(let fix):
            output.append("<trkseg>\n")
            write(fix, into: &output)
            output.append("</trkseg>\n")
        }
    }

    private mutating func write(_ fix: TrackFix, into output: inout OutputBuffer) {
        output.append("<trkpt lat=\"")
        output.append(decimal: fix.latitude)
        output.append("\" lon=\"")
        // The schema excludes 180.
        output.append(decimal: fix.longitude == 180 ? -180 : fix.longitude)
        output.append("\">")
        if let altitude = fix.altitude { output.append(element: "ele", altitude) }
        output.append("<time>")
        times.write(fix.time, into: &output)
        output.append("</time>")
        if let dimensions = fix.dimensions {
            output.append("<fix>\(dimensions == 3 ? "3d" : dimensions == 2 ? "2d" : "none")</fix>")
        }
        writeExtensions(fix, into: &output)
        output.append("</trkpt>\n")
    }

    private func writeExtensions(_ fix: TrackFix, into output: inout OutputBuffer) {
        guard fix.measures.contains(where: \.isFinite) else { return }
        output.append("<extensions>")
        let (accuracies, motion) = (fix.measures[0...1], fix.measures[2...3])
        if motion.contains(where: \.isFinite) {
            output.append("<gpxtpx:TrackPointExtension>")
            for (name, value) in zip(["gpxtpx:speed", "gpxtpx:course"], motion) where value.isFinite {
                output.append(element: name, value)
            }
            output.append("</gpxtpx:TrackPointExtension>")
        }
        for (name, value) in zip(["lockstep:hacc", "lockstep:vacc"], accuracies) where value.isFinite {
            output.append(element: name, value)
        }
        output.append("</extensions>")
    }
}

extension OutputBuffer {
    fileprivate mutating func append(element name: String, _ value: Double) {
        append("<\(name)>")
        append(decimal: value)
        append("</\(name)>")
    }

    /// Appends a number without an exponent, which xsd:decimal does not allow.
    mutating func append(decimal value: Double) {
        let text = value.description
        guard let exponentStart = text.firstIndex(of: "e"), let exponent = Int(text[exponentStart...].dropFirst())
        else { return append(text) }
        let number = text[..<exponentStart]
        let digits = number.filter(\.isNumber)
        if number.hasPrefix("-") { append("-") }
        // The decimal point is after the first digit. Swift uses exponents below -4 and from 16 on, where all digits
        // of a number are before the point.
        if exponent < 0 {
            append("0." + String(repeating: "0", count: -exponent - 1) + digits)
        } else {
            append(
                String(digits.prefix(exponent + 1)) + String(repeating: "0", count: max(0, exponent + 1 - digits.count))
            )
        }
    }
}
