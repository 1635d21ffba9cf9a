/// The streams of a program or a store: the built-in streams, and those declared in the settings.
///
/// Pass a catalog to code that looks up streams by name.
public struct StreamCatalog: Sendable, Hashable {
    /// The catalog of the built-in streams.
    public static let builtIn = StreamCatalog(unchecked: SensorStream.builtIn)

    /// All streams: the built-in streams, followed by the declared streams in order of declaration.
    public let streams: [SensorStream]

    private let byName: [String: SensorStream]
    private let byTable: [String: SensorStream]

    /// Creates a catalog of the built-in streams and `declared` streams.
    /// - Throws: ``StreamDeclarationError`` if two streams have the same name or table.
    public init(declared: [SensorStream]) throws(StreamDeclarationError) {
        for (index, stream) in declared.enumerated() {
            guard let other = declared[..<index].first(where: { $0.table == stream.table }) else { continue }
            throw StreamDeclarationError(
                other.name == stream.name
                    ? "the stream '\(stream.name)' is declared twice: remove one of the declarations"
                    : "the streams '\(other.name)' and '\(stream.name)' have the same table \(stream.table): rename one"
            )
        }
        self.init(unchecked: SensorStream.builtIn + declared)
    }

    private init(unchecked streams: [SensorStream]) {
        self.streams = streams
        byName = Dictionary(streams.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        byTable = Dictionary(streams.map { ($0.table, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The declared streams.
    public var declared: [SensorStream] { streams.filter(\.isDeclared) }

    /// Returns the stream with a topic channel such as `motion/accelerometer`, or nil if there is none.
    public func stream(ofChannel name: String) -> SensorStream? { byName[name] }

    /// Returns the stream with a channel or table of this name, or nil if there is none: `motion/accelerometer` and
    /// `accelerometer` are the same stream.
    public func stream(named name: String) -> SensorStream? { byName[name] ?? byTable[name] }

    /// Returns the stream with this name. For a name below `x/` that is not declared, returns a stream without columns.
    ///
    /// Use the result only where the columns do not matter.
    public func reference(named name: String) -> SensorStream? { stream(named: name) ?? SensorStream.undeclared(name) }

    /// Returns an error message for a name without a stream: the reason, and what to do.
    public func unknownStreamMessage(for name: String) -> String {
        if name.hasPrefix(SensorStream.declaredPrefix) {
            return
                "the stream '\(name.prefix(80))' is not declared: declare its columns in the section 'streams' of the "
                + "settings file (option --config) and restart the program"
        }
        return "unknown stream '\(name.prefix(80))'; known streams: "
            + streams.map(\.name).joined(separator: ", ")
    }
}
