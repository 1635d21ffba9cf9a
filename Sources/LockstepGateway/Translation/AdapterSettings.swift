public import LockstepModel

/// The settings of all formats, and the list of their adapters.
public struct AdapterSettings: Sendable {
    /// The topic levels before the user of OwnTracks.
    public var ownTracksBase = "owntracks"
    /// The secrets of OwnTracks senders who encrypt.
    public var ownTracksKeys = OwnTracksKeys()

    /// The settings of Sensor Logger.
    public var sensorLogger = SensorLoggerSettings()
    /// The topic of SenML packs.
    public var senMLTopic = "senml"
    /// The columns of SenML measurements, by the end of their names.
    public var senMLTargets: [String: SenMLTarget] = [:]
    /// The rules for JSON messages without an adapter of their own.
    public var jsonRules: [JSONRule] = []
    /// The streams.
    public var catalog = StreamCatalog.builtIn

    /// Creates default settings.
    public init() {}

    /// Creates the adapters of all formats. A new format needs a line here.
    public func makeAll() -> [any GatewayAdapter] {
        [
            OwnTracksAdapter(base: ownTracksBase, keys: ownTracksKeys), SensorLoggerAdapter(sensorLogger),
            SenMLAdapter(topic: senMLTopic, targets: senMLTargets, catalog: catalog),
            GenericJSONAdapter(jsonRules, catalog: catalog),
            JoinAdapter(catalog: catalog),
        ]
    }
}
