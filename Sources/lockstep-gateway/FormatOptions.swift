import ArgumentParser
import FoundationEssentials
import LockstepCommandLine
import LockstepGateway

/// The options of the foreign formats.
struct FormatOptions: ParsableArguments {
    static let names = ["owntracks-topic", "owntracks-keys"]
    /// The sections of the settings file.
    static let sections: [String] = []

    @Option(
        name: .customLong("owntracks-topic"), help: "Topic levels before the user of OwnTracks (default: owntracks).")
    var ownTracksTopic: String?

    @Option(
        name: .customLong("owntracks-keys"),
        help: "File with lines 'USER/DEVICE SECRET' for encrypted OwnTracks messages, readable only by its owner.")
    var ownTracksKeys: String?

    /// Returns the adapters of all formats.
    func adapters(_ settings: Settings) throws -> [any GatewayAdapter] {
        var adapters = AdapterSettings()
        if let base = try settings.value("owntracks-topic", ownTracksTopic, parse: topic) {
            adapters.ownTracksBase = base
        }
        if let keys = try settings.value("owntracks-keys", ownTracksKeys, parse: keys) {
            adapters.ownTracksKeys = keys
        }
        return adapters.makeAll()
    }

    private func topic(_ text: String) throws -> String {
        guard !text.isEmpty, !text.hasPrefix("$"), !text.hasPrefix("/"), !text.hasSuffix("/"),
            !text.contains(where: { "+#\0".contains($0) })
        else { throw CommandFailure("'\(text)' is not a topic: use levels without + and #") }
        return text
    }

    private func keys(_ path: String) throws -> OwnTracksKeys {
        try SecretFile.check(path)
        let text: String
        do { text = try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw CommandFailure("cannot read \(path) as UTF-8")
        }
        do { return try OwnTracksKeys(lines: text) } catch { throw CommandFailure("\(path): \(error)") }
    }
}
