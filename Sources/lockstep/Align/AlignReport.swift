import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepMotion
import LockstepWire

/// The result of `lockstep align`, as text and as JSON.
struct AlignReport {
    let devices: (DeviceAddress, DeviceAddress)
    let stream: AlignedStream
    let alignment: MotionAlignment
    let clocks: CollectorTime

    private var time: Timestamp { Timestamp(microseconds: Int64(alignment.time.rounded())) }

    /// The offset minus that of the collector's clock estimates, in µs; nil if they are not known.
    private var disagreement: Double? {
        guard clocks.unknownDevices.isEmpty else { return nil }
        let other = time + -Int64(alignment.offset.rounded())
        return Double(clocks.time(time, of: devices.0) - clocks.time(other, of: devices.1))
    }

    var text: String {
        func milliseconds(_ value: Double) -> String { "\(fixed(value / 1000, 3)) ms" }
        let side = alignment.offset < 0 ? "behind" : "ahead of"
        var lines = [
            "\(devices.0) is \(milliseconds(abs(alignment.offset))) \(side) \(devices.1) at \(time), within "
                + milliseconds(alignment.bound)
        ]
        if let drift = alignment.drift, let bound = alignment.driftBound {
            lines.append("the offset changes by \(fixed(drift, 2)) ppm, within \(fixed(bound, 2)) ppm")
        }
        if let disagreement {
            lines.append("the clock estimates of the store differ by \(milliseconds(abs(disagreement)))")
        }
        lines.append(
            "correlation \(fixed(alignment.correlation, 3)), \(fixed(alignment.significance, 1)) times that of "
                + "independent motions; second peak \(fixed(alignment.secondPeak, 2)) of the first; "
                + counted(alignment.segments, "segment"))
        return lines.joined(separator: "\n") + "\n"
    }

    var json: String {
        var object = JSONObjectWriter()
        object.member("first", devices.0.description)
        object.member("second", devices.1.description)
        object.member("stream", stream.stream.name)
        object.member("t", time.microseconds)
        object.member("offset_us", resolved(alignment.offset, decimals: 1))
        object.member("bound_us", resolved(alignment.bound, decimals: 1))
        if let drift = alignment.drift, let bound = alignment.driftBound {
            object.member("drift_ppm", resolved(drift, decimals: 3))
            object.member("drift_bound_ppm", resolved(bound, decimals: 3))
        }
        if let disagreement { object.member("clock_disagreement_us", disagreement) }
        object.member("correlation", resolved(alignment.correlation, decimals: 4))
        object.member("significance", resolved(alignment.significance, decimals: 1))
        object.member("second_peak", resolved(alignment.secondPeak, decimals: 3))
        object.member("segments", Int64(alignment.segments))
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }
}
