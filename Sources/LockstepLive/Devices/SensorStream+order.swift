package import LockstepModel

extension SensorStream {
    /// Returns whether this stream is listed before another one: first the built-in streams in the order of their
    /// definition, then other streams by name.
    package func precedes(_ other: SensorStream) -> Bool { (rank, name) < (other.rank, other.name) }

    /// The position among the built-in streams, which is the same for all other streams.
    var rank: Int { SensorStream.builtIn.firstIndex(of: self) ?? SensorStream.builtIn.count }
}
