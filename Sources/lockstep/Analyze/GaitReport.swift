import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepWire

/// The result of `lockstep analyze walk`, as text and as JSON.
struct GaitReport {
    let steps: Int
    /// nil without strides.
    let gait: GaitAnalysis?
    /// nil for the samples of a store.
    let notes: RecordingNotes?
    /// Whether the step length was given, or the height to estimate it.
    let hasLength: Bool

    var text: String {
        let end = notes?.lines ?? ""
        guard let gait else { return "no walk of several strides; \(counted(steps, "step"))\n" + end }
        var lines = [
            "\(counted(gait.steps, "step")) in \(counted(gait.walks, "walk")), \(fixed(gait.seconds, 1)) s of walking",
            "cadence      \(fixed(gait.cadence, 3)) steps/s (\(fixed(60 * gait.cadence, 1)) a minute)",
            "stride time  \(fixed(gait.strideTime, 3)) s on average of \(counted(gait.strides, "stride")), standard "
                + "deviation \(fixed(gait.strideDeviation, 3)) s (\(fixed(100 * gait.strideVariation, 1)) %)",
        ]
        if let symmetry = gait.stepSymmetry {
            lines.append("symmetry     \(fixed(symmetry, 3)) (1 if the steps of both feet take as long)")
        }
        if hasLength { lines.append("speed        \(fixed(gait.speed, 2)) m/s") }
        return lines.joined(separator: "\n") + "\n" + end
    }

    /// The JSON object; durations in s. Members that are not known are missing.
    var json: String {
        var object = JSONObjectWriter()
        object.member("steps", Int64(steps))
        if let gait {
            object.member("walks", Int64(gait.walks))
            object.member("walked", resolved(gait.seconds, decimals: 6))
            object.member("cadence", resolved(gait.cadence, decimals: 4))
            object.member("strides", Int64(gait.strides))
            object.member("stride_time", resolved(gait.strideTime, decimals: 4))
            object.member("stride_deviation", resolved(gait.strideDeviation, decimals: 4))
            object.member("stride_variation", resolved(gait.strideVariation, decimals: 4))
            if let symmetry = gait.stepSymmetry { object.member("symmetry", resolved(symmetry, decimals: 4)) }
            if hasLength { object.member("speed", resolved(gait.speed, decimals: 3)) }
        }
        notes?.add(to: &object)
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }
}
