public import LockstepModel
import LockstepStore

/// Writes samples as XDF 1.0 (https://github.com/sccn/xdf/wiki/Specifications): one stream for each stream of each device,
/// with numbers in 64 bits, one of markers with texts, and one with the numbers of the same markers. Readers expect a single
/// channel of texts for markers, so the numbers are not beside them.
///
/// Times are seconds since 1970. They are written as they are given, mostly on the collector's clock. So the clock offset of
/// each stream is 0; without one, readers report that they cannot synchronise the stream. The nominal rate is 0, irregular, so
/// that readers do not smooth the times.
struct XDFWriter: RowWriter {
    private enum Tag: UInt16 { case fileHeader = 1, streamHeader, samples, clockOffset, boundary, streamFooter }

    /// The size of samples from which on a chunk is written.
    private static let limit = 32_768

    private let streams: [SensorStream]
    private let session: RecordingSession?
    private var series: [Series] = []
    private var indices: [DeviceAddress: [Int?]] = [:]

    /// A stream of the file.
    private struct Series {
        let id: UInt32
        var samples: [UInt8] = []
        var count = 0
        /// The number of samples in chunks that are written, and the first and last time.
        var written = 0
        var times: (first: Double, last: Double)?
    }

    init(streams: [SensorStream], session: RecordingSession?) {
        self.streams = streams
        self.session = session
    }

    mutating func begin(into output: inout OutputBuffer) {
        output.append("XDF:")
        let properties = session.map { Self.element("desc", Self.elements($0.properties)) } ?? ""
        chunk(.fileHeader, Self.xml("<version>1.0</version>" + properties), into: &output)
        guard let session else { return }
        let index = add(
            name: "markers", type: "Markers", format: "string", channels: [("marker", "")], description: "",
            into: &output)
        for marker in session.markers {
            append(time: marker.time, to: index)
            let text = Array(marker.text.utf8)
            series[index].samples.append(4)
            series[index].samples.append(number: UInt32(text.count))
            series[index].samples += text
        }
        flush(index, into: &output)
        let numbers = add(
            name: "marker values", type: "MarkerValues", format: "double64",
            channels: [("value", ""), ("duration", "s")], description: "", into: &output)
        for marker in session.markers {
            append(time: marker.time, to: numbers)
            for value in [marker.value, marker.duration.map { Double($0) / 1e6 }] {
                series[numbers].samples.append(number: (value ?? .nan).bitPattern)
            }
        }
        flush(numbers, into: &output)
    }

    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        let index = self.index(of: row.device, stream, into: &output)
        append(time: row.time, to: index)
        // Formats without columns of their own have no bound at the end.
        for value in row.values.prefix(streams[stream].columns.count) {
            series[index].samples.append(number: value.bitPattern)
        }
        if series[index].samples.count >= Self.limit { flush(index, into: &output) }
    }

    mutating func end(into output: inout OutputBuffer) {
        for index in series.indices {
            flush(index, into: &output)
            let times = series[index].times ?? (0, 0)
            var offset = ""
            if series[index].written > 0 {
                var content: [UInt8] = []
                for value in [times.first, 0] { content.append(number: value.bitPattern) }
                chunk(.clockOffset, of: series[index].id, content, into: &output)
                offset = Self.element("offset", Self.elements([("time", "\(times.first)"), ("value", "0")]))
            }
            let info =
                "<first_timestamp>\(times.first)</first_timestamp><last_timestamp>\(times.last)</last_timestamp>"
                + "<sample_count>\(series[index].written)</sample_count>" + Self.element("clock_offsets", offset)
            chunk(.streamFooter, of: series[index].id, Self.xml(info), into: &output)
        }
    }

    private mutating func index(of device: DeviceAddress, _ stream: Int, into output: inout OutputBuffer) -> Int {
        if let known = indices[device]?[stream] { return known }
        let description = session?.devices[device.device].map { Self.elements($0.properties) } ?? ""
        let index = add(
            name: "\(device)/\(streams[stream].name)", type: streams[stream].name, format: "double64",
            channels: streams[stream].columns.map { ($0.name, $0.unit) }, description: description, into: &output)
        indices[device, default: Array(repeating: nil, count: streams.count)][stream] = index
        return index
    }

    /// Adds a stream, and writes its header.
    private mutating func add(
        name: String, type: String, format: String, channels: [(label: String, unit: String)], description: String,
        into output: inout OutputBuffer
    ) -> Int {
        let list = channels.map { Self.element("channel", Self.elements([("label", $0.label), ("unit", $0.unit)])) }
        let info =
            Self.elements([
                ("name", name), ("type", type), ("channel_count", "\(channels.count)"), ("nominal_srate", "0"),
                ("channel_format", format), ("source_id", name),
            ]) + Self.element("desc", Self.element("channels", list.joined()) + description)
        series.append(Series(id: UInt32(series.count + 1)))
        chunk(.streamHeader, of: UInt32(series.count), Self.xml(info), into: &output)
        return series.count - 1
    }

    private mutating func append(time: Timestamp, to index: Int) {
        let seconds = Double(time.microseconds) / 1e6
        series[index].samples.append(8)
        series[index].samples.append(number: seconds.bitPattern)
        series[index].count += 1
        series[index].times = (series[index].times?.first ?? seconds, seconds)
    }

    private mutating func flush(_ index: Int, into output: inout OutputBuffer) {
        guard series[index].count > 0 else { return }
        var content: [UInt8] = [4]
        content.append(number: UInt32(series[index].count))
        content += series[index].samples
        chunk(.samples, of: series[index].id, content, into: &output)
        series[index].written += series[index].count
        series[index].samples.removeAll(keepingCapacity: true)
        series[index].count = 0
    }

    private func chunk(
        _ tag: Tag, of id: UInt32? = nil, _ content: [UInt8], into output: inout OutputBuffer
    ) {
        var bytes: [UInt8] = [4]
        bytes.append(number: UInt32(2 + (id == nil ? 0 : 4) + content.count))
        bytes.append(number: tag.rawValue)
        if let id { bytes.append(number: id) }
        output.append(bytes + content)
    }

    private static func xml(_ info: String) -> [UInt8] { Array("<?xml version=\"1.0\"?><info>\(info)</info>".utf8) }

    private static func element(_ name: String, _ content: String) -> String { "<\(name)>\(content)</\(name)>" }

    /// Returns elements with texts. Characters that a name cannot have become underscores.
    private static func elements(_ properties: [(key: String, value: String)]) -> String {
        properties.map { key, value in
            let name = String(key.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
            // XML has no other control characters.
            let text = String(String.UnicodeScalarView(value.unicodeScalars.filter { $0.value >= 32 || $0 == "\n" }))
            return element(name, text.escaping(["&": "&amp;", "<": "&lt;", ">": "&gt;"]))
        }.joined()
    }
}

extension RecordingSession {
    /// What a file tells about the session, as texts.
    var properties: [(key: String, value: String)] {
        var properties = [
            ("name", name), ("id", key.id.rawValue), ("group", key.group.rawValue), ("state", state.rawValue),
        ]
        if let start { properties.append(("start", "\(start)")) }
        if let end { properties.append(("end", "\(end)")) }
        if let note { properties.append(("note", note)) }
        for (stream, rate) in rates.sorted(by: { $0.key < $1.key }) { properties.append(("rate/\(stream)", "\(rate)")) }
        for (label, value) in labels.sorted(by: { $0.key < $1.key }) { properties.append(("label/\(label)", value)) }
        return properties
    }
}

extension RecordingSession.Device {
    /// What a file tells about the device, as texts.
    var properties: [(key: String, value: String)] {
        var properties = [("missing_batches", "\(missing)"), ("batches_on_their_way", "\(onItsWay)")]
        if let clockBound { properties.append(("clock_bound_us", "\(clockBound)")) }
        if let problem { properties.append(("problem", problem)) }
        if let calibration { properties.append(("calibration", calibration)) }
        return properties
    }
}

/// The markers of a session as CSV, with the columns `t` (µs since 1970), `time`, `clock`, `text`, `device`, `value`,
/// `duration_s` and `id`.
public func markerCSV(_ markers: [RecordingSession.Marker]) -> String {
    markers.reduce("t,time,clock,text,device,value,duration_s,id\n") { text, marker in
        let fields = [
            "\(marker.time.microseconds)", "\(marker.time)", marker.clock.rawValue, marker.text.csvField,
            marker.device?.rawValue ?? "", marker.value.map { "\($0)" } ?? "",
            marker.duration.map { "\(Double($0) / 1e6)" } ?? "", marker.id.csvField,
        ]
        return text + fields.joined(separator: ",") + "\n"
    }
}
