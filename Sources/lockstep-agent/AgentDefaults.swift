import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepSensors
import Logging

/// The host name as a device id, up to its first dot.
/// - Throws: ``CommandFailure`` if it can't be one.
func hostDevice() throws -> DeviceID {
    let host = String(ProcessInfo.processInfo.hostName.prefix { $0 != "." })
    guard let device = DeviceID(rawValue: host) else {
        throw CommandFailure("the host name '\(host)' can't be a device id: name one with --device")
    }
    return device
}

/// The outbox of a device where none is named; its folder is made.
/// - Throws: ``CommandFailure``
func defaultOutbox(for address: DeviceAddress) throws -> String {
    let environment = ProcessInfo.processInfo.environment
    guard let state = environment["XDG_STATE_HOME"] ?? environment["HOME"].map({ $0 + "/.local/state" }) else {
        throw CommandFailure("there is no home folder for the outbox: name a file with --outbox")
    }
    let folder = state + "/lockstep"
    do {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch {
        throw CommandFailure("the folder \(folder) can't be made for the outbox: name a file with --outbox")
    }
    return "\(folder)/\(address.group)-\(address.device).outbox"
}

func replaySpeed(_ text: String) throws -> ReplaySpeed {
    guard let speed = ReplaySpeed(text) else {
        throw CommandFailure("'\(text)' is no speed: write a factor above 0, or max")
    }
    return speed
}

func yesOrNo(_ text: String) throws -> Bool {
    switch text {
    case "true", "yes", "1": return true
    case "false", "no", "0": return false
    default: throw CommandFailure("'\(text)' is neither true nor false")
    }
}
