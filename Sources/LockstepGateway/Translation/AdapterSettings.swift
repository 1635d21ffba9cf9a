/// The settings of all formats, and the list of their adapters.
public struct AdapterSettings: Sendable {
    /// The topic levels before the user of OwnTracks.
    public var ownTracksBase = "owntracks"
    /// The secrets of OwnTracks senders who encrypt.
    public var ownTracksKeys = OwnTracksKeys()

    /// Creates default settings.
    public init() {}

    /// Creates the adapters of all formats. A new format needs a line here.
    public func makeAll() -> [any GatewayAdapter] {
        [
            OwnTracksAdapter(base: ownTracksBase, keys: ownTracksKeys)
        ]
    }
}
