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
        var scanner = CanonicalScanner(payload)
        if scanner.scan(#"{"n":"#), let number = scanner.scanWholeNumber(), scanner.scan(byte: "}"), scanner.isAtEnd {
            return ClockPing(number: number)
        }
        do {
            return ClockPing(number: try JSONDecoder().decode(Ping.self, from: Data(payload)).n)
        } catch {
            throw PayloadError(decoding: error)
        }
    }

    /// Decodes an answer.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decodePong(_ payload: Data) throws(PayloadError) -> ClockPong {
        do {
            let wire = try JSONDecoder().decode(Pong.self, from: payload)
            let limit: Int64 = 1 << 53
            guard (0..<limit).contains(wire.received), (0..<limit).contains(wire.sent),
                (-limit..<limit).contains(wire.shift), (0..<limit).contains(wire.maxError ?? 0),
                wire.boot.utf8.count <= 64
            else { throw PayloadError("a value of the time exchange is out of range") }
            return ClockPong(
                number: wire.n, collector: try CollectorID(validating: wire.collector), boot: wire.boot,
                received: wire.received, sent: wire.sent, shift: wire.shift, maxError: wire.maxError)
        } catch let error as IdentifierError {
            throw PayloadError(error.description)
        } catch {
            throw PayloadError(decoding: error)
        }
    }

    private struct Ping: Decodable { var n: Int64 }

    private struct Pong: Decodable {
        var n: Int64
        var collector: String
        var boot: String
        var received: Int64
        var sent: Int64
        var shift: Int64
        var maxError: Int64?

        enum CodingKeys: String, CodingKey {
            case n, collector, boot, received, sent, shift
            case maxError = "max_error"
        }
    }
}
