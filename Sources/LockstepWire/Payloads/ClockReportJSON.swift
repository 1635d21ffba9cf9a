import LockstepModel

/// The member `clock` of a presence message: `{"synchronised":true,"max_error":…,"points":[{"collector":"main",…}]}`.
struct ClockReportJSON: Decodable {
    private struct Point: Decodable {
        var collector: String
        var t: Int64
        var segment: Int64
        var offset: Int64
        var skew: Int64
        var bound: Int64
        var skewBound: Int64

        enum CodingKeys: String, CodingKey {
            case collector, t, segment, offset, skew, bound
            case skewBound = "skew_bound"
        }
    }

    private var synchronised: Bool?
    private var maxError: Int64?
    private var points: [Point]?

    private enum CodingKeys: String, CodingKey {
        case synchronised, points
        case maxError = "max_error"
    }

    static func encode(_ report: ClockReport, into object: inout JSONObjectWriter) {
        object.member("clock") { clock in
            if let isSynchronised = report.isSynchronised { clock.member("synchronised", isSynchronised) }
            clock.member("max_error", ifPresent: report.maxError)
            guard !report.points.isEmpty else { return }
            clock.member("points", report.points) { array, point in
                array.object { object in
                    object.member("collector", point.collector.rawValue)
                    object.member("t", point.time.microseconds)
                    object.member("segment", point.segment.microseconds)
                    object.member("offset", point.offset)
                    object.member("skew", point.skew)
                    object.member("bound", point.bound)
                    object.member("skew_bound", point.skewBound)
                }
            }
        }
    }

    /// Returns the report.
    /// - Throws: ``PayloadError`` or `IdentifierError` for invalid values.
    func report() throws -> ClockReport {
        guard (0..<1 << 53).contains(maxError ?? 0) else {
            throw PayloadError("'max_error' is \(maxError ?? 0): it must be a time in µs")
        }
        let points = try (points ?? []).prefix(ClockReport.maxPoints).map { point in
            let decoded = ClockPoint(
                collector: try CollectorID(validating: point.collector), time: Timestamp(microseconds: point.t),
                segment: Timestamp(microseconds: point.segment), offset: point.offset, skew: point.skew,
                bound: point.bound, skewBound: point.skewBound)
            guard decoded.isValid else { throw PayloadError("a point of 'clock' has a value that is out of range") }
            return decoded
        }
        return ClockReport(isSynchronised: synchronised, maxError: maxError, points: points)
    }
}

extension ClockPoint {
    /// Whether all values are in the range in which calculations with them cannot overflow.
    fileprivate var isValid: Bool {
        let limit: Int64 = 1 << 53
        return (0..<limit).contains(time.microseconds) && (0..<limit).contains(segment.microseconds)
            && (-limit..<limit).contains(offset) && (0..<limit).contains(bound)
            && (-1_000_000_000...1_000_000_000).contains(skew) && (0...1_000_000_000).contains(skewBound)
    }
}

extension CanonicalScanner {
    /// Scans the report of a clock whose opening brace is already scanned, including its closing brace.
    mutating func scanRestOfClock() -> ClockReport? {
        var report = ClockReport()
        if scan(#""synchronised":true"#) {
            report.isSynchronised = true
        } else if scan(#""synchronised":false"#) {
            report.isSynchronised = false
        }
        if report.isSynchronised != nil { _ = scan(byte: ",") }
        if scan(#""max_error":"#) {
            guard let error = scanWholeNumber(), (0..<BatchRules.integerLimit).contains(error) else { return nil }
            report.maxError = error
            _ = scan(byte: ",")
        }
        if scan(#""points":["#) {
            repeat {
                guard let point = scanClockPoint(), point.isValid, report.points.count < ClockReport.maxPoints else {
                    return nil
                }
                report.points.append(point)
            } while scan(byte: ",")
            guard scan(byte: "]") else { return nil }
        }
        return scan(byte: "}") ? report : nil
    }

    private mutating func scanClockPoint() -> ClockPoint? {
        guard scan(#"{"collector":""#), let collector = scanRestOfString().flatMap(CollectorID.init(rawValue:)),
            scan(#","t":"#), let time = scanWholeNumber(), scan(#","segment":"#), let segment = scanWholeNumber(),
            scan(#","offset":"#), let offset = scanWholeNumber(), scan(#","skew":"#), let skew = scanWholeNumber(),
            scan(#","bound":"#), let bound = scanWholeNumber(), scan(#","skew_bound":"#),
            let skewBound = scanWholeNumber(), scan(byte: "}")
        else { return nil }
        return ClockPoint(
            collector: collector, time: Timestamp(microseconds: time), segment: Timestamp(microseconds: segment),
            offset: offset, skew: skew, bound: bound, skewBound: skewBound)
    }
}
