import LockstepModel

/// The member `clock` of a presence message: `{"synchronised":true,"max_error":…,"points":[{"collector":"main",…}]}`.
enum ClockReportJSON {
    static func encode(_ report: ClockReport, into object: inout JSONObjectWriter) {
        object.member("clock") { clock in
            if let isSynchronised = report.isSynchronised { clock.member("synchronised", isSynchronised) }
            clock.member("max_error", ifPresent: report.maxError)
            // A receiver refuses the whole message because of an invalid point, such as one of a clock before 1970.
            let points = report.points.filter(\.isValid)
            guard !points.isEmpty else { return }
            clock.member("points", points) { array, point in
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

    /// Decodes the report.
    static func decode(_ object: JSONMembers) throws(PayloadError) -> ClockReport {
        let maxError: Int64? = try object.optional("max_error")
        guard (0..<1 << 53).contains(maxError ?? 0) else {
            throw PayloadError("'max_error' is \(maxError ?? 0): it must be a time in µs")
        }
        let points: [JSONMembers] = try object.optional("points") ?? []
        return ClockReport(
            isSynchronised: try object.optional("synchronised"), maxError: maxError,
            points: try points.prefix(ClockReport.maxPoints).map { point throws(PayloadError) in try decode(point) })
    }

    private static func decode(_ point: JSONMembers) throws(PayloadError) -> ClockPoint {
        let decoded = ClockPoint(
            collector: try point.required("collector"), time: try point.required("t"),
            segment: try point.required("segment"), offset: try point.required("offset"),
            skew: try point.required("skew"), bound: try point.required("bound"),
            skewBound: try point.required("skew_bound"))
        guard decoded.isValid else { throw PayloadError("a point of 'clock' has a value that is out of range") }
        return decoded
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
