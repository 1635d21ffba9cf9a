import Glibc
import Testing

@testable import LockstepMQTT

@Suite("An MQTT error")
struct MQTTErrorTests {
    @Test(
        "says why a broker refused a connection, in either version",
        arguments: [
            (1, .three, .unsupportedVersion, "the broker does not speak MQTT 3.1.1"),
            (132, .five, .unsupportedVersion, "the broker does not speak MQTT 5"),
            (2, .three, .refused, "the broker refused the client id"),
            (133, .five, .refused, "the broker refused the client id"),
            (3, .three, .refused, "the broker refused: "),
            (136, .five, .refused, "the broker refused: "),
            (4, .three, .badCredentials, "the broker refused user name or password"),
            (134, .five, .badCredentials, "the broker refused user name or password"),
            (5, .three, .notAuthorized, "the broker refused this client: check user name, password and access rights"),
            (135, .five, .notAuthorized, "the broker refused this client: check user name, password and access rights"),
            (138, .five, .refused, "the broker refused: "),
        ] as [(Int32, MQTTVersion, MQTTError.Code, String)])
    func connectReasons(_ reason: Int32, _ version: MQTTVersion, _ code: MQTTError.Code, _ text: String) {
        let error = MQTTError(connectReason: reason, version: version)
        #expect(error.code == code)
        #expect(
            text.hasSuffix(" ")
                ? error.description.hasPrefix(text) && error.description.count > text.count : error.description == text)
    }

    @Test(
        "says why a broker ended a connection",
        arguments: [
            (142, .takenOver, "another client took over this client id"),
            (149, .tooLarge, "a packet was too large for the broker"),
            (139, .refused, "the broker ended the connection: "),
            (7, .connectionLost, "the connection was lost"),
            (19, .connectionLost, "the broker does not answer any more"),
        ] as [(Int32, MQTTError.Code, String)])
    func disconnectReasons(_ reason: Int32, _ code: MQTTError.Code, _ text: String) {
        let error = MQTTError(disconnectReason: reason, detail: nil)
        #expect(error.code == code)
        #expect(error.description.hasPrefix(text))
    }

    @Test(
        "says what libmosquitto's numbers mean",
        arguments: [
            (5, .unreachable, "Connection refused"), (15, .unreachable, "the host name can't be resolved"),
            (20, .unreachable, "the host name can't be resolved"), (8, .tls, "TLS failed"), (23, .tls, "TLS failed"),
            (4, .connectionLost, ""), (9, .tooLarge, ""), (25, .tooLarge, ""), (3, .invalid, ""), (18, .invalid, ""),
            (11, .notAuthorized, ""), (12, .notAuthorized, ""), (1, .other, ""), (2, .other, ""),
        ] as [(Int32, MQTTError.Code, String)])
    func library(_ status: Int32, _ code: MQTTError.Code, _ text: String) {
        let error = MQTTError(library: status)
        #expect(error.code == code)
        #expect(!error.description.isEmpty)
        #expect(text.isEmpty || error.description == text)
        #expect(MQTTError(library: status, detail: "why").description == "\(error.description): why")
    }

    @Test("says what the system says where the system failed")
    func system() {
        errno = EHOSTUNREACH
        let error = MQTTError(library: 14)
        #expect(error == MQTTError(.unreachable, "No route to host"))
    }
}
