import LockstepModel

extension SensorStream {
    /// Returns whether this stream is listed before another one: first the built-in streams in the order of their
    /// definition, then other streams by name.
    func precedes(_ other: SensorStream) -> Bool {
        let all = SensorStream.builtIn
        let position = { (stream: SensorStream) in all.firstIndex(of: stream) ?? all.count }
        return (position(self), name) < (position(other), other.name)
    }
}
