import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepSensors
import Logging

/// Returns the first label of the host name as a device id.
/// - Throws: ``CommandFailure`` if it is not a valid id.
func hostDevice() throws -> DeviceID {
    let host = String(ProcessInfo.processInfo.hostName.prefix { $0 != "." })
    guard let device = DeviceID(rawValue: host) else {
        throw CommandFailure("the host name '\(host)' is not a valid device id: set one with --device")
    }
    return device
}

/// Returns the default path of a device's outbox, and creates its folder.
/// - Throws: ``CommandFailure`` if neither `XDG_STATE_HOME` nor `HOME` is set, or if the folder cannot be created.
func defaultOutbox(for address: DeviceAddress) throws -> String {
    let environment = ProcessInfo.processInfo.environment
    guard let state = environment["XDG_STATE_HOME"] ?? environment["HOME"].map({ $0 + "/.local/state" }) else {
        throw CommandFailure("no folder for the outbox: XDG_STATE_HOME and HOME are not set; set a file with --outbox")
    }
    let folder = state + "/lockstep"
    do {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
        throw CommandFailure("cannot create the folder '\(folder)' for the outbox: set a file with --outbox")
    }
    return "\(folder)/\(address.group)-\(address.device).outbox"
}

/// Parses a replay speed.
func replaySpeed(_ text: String) throws -> ReplaySpeed {
    guard let speed = ReplaySpeed(text) else {
        throw CommandFailure("'\(text)' is not a speed: use a factor above 0, or max")
    }
    return speed
}
