import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore

extension StoreAddress {
    /// Begins a run that writes refined data of a device to the store.
    func refinedRun(
        of device: DeviceAddress, kind: RefinedKind, method: String, version: Int, parameters: String, now: Timestamp
    ) throws -> any RefinedWriting {
        switch self {
        case .sqlite(let path):
            return try RefinedRun(
                path: path, device: device, kind: kind, method: method, version: version, parameters: parameters,
                now: now)
        case .clickHouse(let address):
            return try ClickHouseRefinedRun(
                address, device: device, kind: kind, method: method, version: version, parameters: parameters,
                now: now
            ) { Terminal.writeError("warning: \($0)") }
        }
    }
}
