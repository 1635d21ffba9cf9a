import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepWire

/// The settings of `lockstep-gateway` without a heading in its help.
struct GatewaySettings: SettingGroup {
    let outbox = Setting(
        "outbox",
        "File that keeps all batches until they are acknowledged (required). It is created if necessary.")
    let outboxSize = Setting(
        "outbox-size",
        "Maximum size of the outbox; above it, the oldest batches are dropped (default: 256M)."
    ) { Int64(try byteCount($0)) }
    let id = Setting(
        "id",
        "Id of this gateway; the broker keeps its session under this id (default: main)."
    ) { try DeviceID(validating: $0) }
    let accept = Setting(
        "accept",
        "Senders to accept: known, those in the section 'map', or any (default: known).", acceptsAny)
    let group = Setting(
        "group",
        "Group of the devices of senders that are not in 'map' (default: default)."
    ) { try GroupID(validating: $0) }
    let joinGroup = Setting(
        "join-group",
        "Group in which browsers may join that are not in 'map' (default: phones)."
    ) { try GroupID(validating: $0) }
    let root = Setting("root", "Topic prefix (default: lockstep).") { try TopicRoot($0) }
    let encoding = Setting(
        "encoding",
        "Encoding of batches: json or cbor (default: json)."
    ) { try choice($0, of: BatchEncoding.self) }
    let maxPayload = Setting("max-payload", "Maximum size of a foreign message in bytes (default: 1M).", byteCount)
    let maxDevices = Setting(
        "max-devices",
        "Maximum number of devices; messages of further ones are refused (default: 10000)."
    ) { try wholeNumber($0, in: 1...100_000) }
    let maxUserDevices = Setting(
        "max-user-devices",
        "Maximum number of devices that a user can create by HTTP (default: 100)."
    ) { try wholeNumber($0, in: 1...100_000) }
    let maxFuture = Setting(
        "max-future",
        "Maximum time that a sample may lie in the future (default: 12h).", parseDuration)
    let backlogRate = Setting(
        "backlog-rate",
        "Maximum rate of backlog of each device in bytes a second (default: 256K).", byteCount)
    let silence = Setting.list(
        "silence",
        """
        Time without messages after which a device counts as lost, in every phase: FORMAT=TIME, such as json=10m, \
        for the formats owntracks, sensorlogger, senml, json, join and phyphox. May be repeated.
        """, silenceLimit)
    let friends = Setting.flag(
        "friends",
        "Answer OwnTracks devices by HTTP with the positions and cards of the others of their group.")
    let streams = Setting.streams
    /// The devices of known senders.
    let map = Setting.section("map")
}

private func acceptsAny(_ text: String) throws -> Bool {
    guard ["known", "any"].contains(text) else {
        throw CommandFailure("'\(text)' is not a choice of senders: use known or any")
    }
    return text == "any"
}

private func silenceLimit(_ text: String) throws -> (format: String, limit: Int64) {
    let formats = ["owntracks", "sensorlogger", "senml", "json", "join", "phyphox"]
    let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
    guard parts.count == 2, formats.contains(parts[0]) else {
        throw CommandFailure("'\(text)' is not FORMAT=TIME with one of \(formats.joined(separator: ", "))")
    }
    let limit = try parseDuration(parts[1])
    guard limit > 0 else { throw CommandFailure("the limit of \(parts[0]) must be more than 0") }
    return (parts[0], limit)
}
