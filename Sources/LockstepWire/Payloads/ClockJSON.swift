public import FoundationEssentials
public import LockstepModel

/// The JSON encoding of the time exchange: `{"n":7}` on `clock/ping`, and on `clock/pong`
/// `{"n":7,"collector":"main","boot":"1f0c2d3e","received":…,"sent":…,"shift":…,"max_error":…}`.
public enum ClockJSON {
    /// Encodes a request.
    public static func encode(_ ping: ClockPing) -> [UInt8] {
        var object = JSONObjectWriter(reservingCapacity: 32)
        object.member("n", ping.number)
        return object.finish()
    }

    /// Encodes an answer.
    public static func encode(_ pong: ClockPong) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("n", pong.number)
        object.member("collector", pong.collector.rawValue)
        object.member("boot", pong.boot)
        object.member("received", pong.received)
        object.member("sent", pong.sent)
        object.member("shift", pong.shift)
        object.member("max_error", ifPresent: pong.maxError)
        return object.finish()
    }

    /// Decodes a request. `payload` only has to be valid during the call.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decodePing(_ payload: UnsafeRawBufferPointer) throws(PayloadError) -> ClockPing {
        ClockPing(number: try JSONMembers(payload).required("n"))
    }

    /// Decodes an answer.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decodePong(_ payload: Data) throws(PayloadError) -> ClockPong {
        let object = try JSONMembers(payload)
        let pong = ClockPong(
            number: try object.required("n"), collector: try object.required("collector"),
            boot: try object.required("boot"), received: try object.required("received"),
            sent: try object.required("sent"), shift: try object.required("shift"),
            maxError: try object.optional("max_error"))
        let limit: Int64 = 1 << 53
        guard (0..<limit).contains(pong.received), (0..<limit).contains(pong.sent),
            (-limit..<limit).contains(pong.shift), (0..<limit).contains(pong.maxError ?? 0),
            pong.boot.utf8.count <= 64
        else { throw PayloadError("a value of the time exchange is out of range") }
        return pong
    }
}
