extension RunningProgram {
    /// Waits until a collector logs a state change.
    /// - Parameters:
    ///   - device: the group and device, or nil for any.
    ///   - previous: the previous state, or nil for any.
    ///   - reason: the reason, or nil for any.
    public func waitForState(
        _ state: String, of device: String? = nil, from previous: String? = nil, reason: String? = nil,
        within limit: Duration = .seconds(60)
    ) async -> Bool {
        await eventually(within: limit) {
            hasLoggedState(state, of: device, from: previous, reason: reason)
        }
    }

    /// Returns whether a collector has logged a state change. See ``waitForState(_:of:from:reason:within:)``.
    public func hasLoggedState(
        _ state: String, of device: String? = nil, from previous: String? = nil, reason: String? = nil
    ) -> Bool {
        let expected = [
            "to=\(state)", device.map { "device=\($0)" }, previous.map { "from=\($0)" }, reason.map { "reason=\($0)" },
        ].compactMap(\.self)
        return text.split(whereSeparator: \.isNewline).contains { line in
            let words = line.split(separator: " ")
            return line.contains("state changed") && expected.allSatisfy { words.contains(Substring($0)) }
        }
    }
}
