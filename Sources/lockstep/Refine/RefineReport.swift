import LockstepCommandLine
import LockstepModel
import LockstepMotion

/// The result of `lockstep refine`.
struct RefineReport {
    let device: DeviceAddress
    /// What a row is.
    let noun: String
    var part = "part"
    let rows: Int
    let parts: Int
    /// The number of rows whose measurement was rejected; nil if there is no such thing.
    var rejected: Int?
    let first: Int64
    let last: Int64

    private func speed(_ seconds: Double) -> Double { resolved(Double(last - first) / 1e6 / seconds, decimals: 1) }

    func text(seconds: Double) -> String {
        """
        \(device): \(counted(rows, noun)) in \(counted(parts, part)) from \(Timestamp(microseconds: first)) \
        to \(Timestamp(microseconds: last))\(rejected.map { ", \($0) rejected" } ?? ""), computed in \(resolved(seconds, decimals: 2)) s \
        (\(speed(seconds)) times real time)

        """
    }

    func json(seconds: Double) -> String {
        """
        {"device":"\(device)","rows":\(rows),"parts":\(parts),"first":\(first),"last":\(last),\
        \(rejected.map { "\"rejected\":\($0)," } ?? "")\
        "seconds":\(resolved(seconds, decimals: 3)),"speed":\(speed(seconds))}

        """
    }
}
