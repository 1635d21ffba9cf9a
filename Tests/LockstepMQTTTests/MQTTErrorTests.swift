import Glibc
import Testing

@testable import LockstepMQTT

@Suite("MQTTError")
struct MQTTErrorTests {
    @Test(
        "the reason codes of CONNACK are explained for both versions",
        arguments: [
            (1, .three, .unsupportedVersion, "the broker does not support MQTT 3.1.1"),
            (132, .five, .unsupportedVersion, "the broker does not support MQTT 5"),
            (
                2, .three, .refused,
                "the broker refused the client id: its rules must allow ids of letters, digits, - and _"
            ),
            (
                133, .five, .refused,
                "the broker refused the client id: its rules must allow ids of letters, digits, - and _"
            ),
            (3, .three, .refused, "the broker refused the connection: "),
            (136, .five, .refused, "the broker refused the connection: "),
            (4, .three, .badCredentials, "the broker refused the user name or password"),
            (134, .five, .badCredentials, "the broker refused the user name or password"),
            (5, .three, .notAuthorized, "the broker denied access: check user name, password and access rights"),
            (135, .five, .notAuthorized, "the broker denied access: check user name, password and access rights"),
            (138, .five, .refused, "the broker refused the connection: "),
        ] as [(Int32, MQTTVersion, MQTTError.Code, String)])
    func connectReasons(_ reason: Int32, _ version: MQTTVersion, _ code: MQTTError.Code, _ text: String) {
        let error = MQTTError(connectReason: reason, version: version)
        #expect(error.code == code)
        #expect(
            text.hasSuffix(" ")
                ? error.description.hasPrefix(text) && error.description.count > text.count : error.description == text)
    }

    @Test(
        "the reason codes of DISCONNECT are explained",
        arguments: [
            (142, .takenOver, "session taken over: another client connected with the same client id"),
            (149, .tooLarge, "a packet was too large for the broker"),
            (139, .refused, "the broker closed the connection: "),
            (7, .connectionLost, "the connection was lost"),
            (19, .connectionLost, "the broker stopped responding"),
        ] as [(Int32, MQTTError.Code, String)])
    func disconnectReasons(_ reason: Int32, _ code: MQTTError.Code, _ text: String) {
        let error = MQTTError(disconnectReason: reason, detail: nil)
        #expect(error.code == code)
        #expect(error.description.hasPrefix(text))
    }

    @Test(
        "the return values of libmosquitto are explained",
        arguments: [
            (
                5, .unreachable,
                "Connection refused: nothing listens at this port; 'lockstep up' starts a broker on this machine"
            ), (15, .unknownHost, "cannot resolve the host name"),
            (20, .unknownHost, "cannot resolve the host name"), (8, .tls, "TLS failed"), (23, .tls, "TLS failed"),
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

    @Test("a malformed answer to CONNECT means that the broker does not support MQTT 5, but no MQTT if 3.1.1 was asked")
    func unreadableAnswers() {
        let malformed: Int32 = 21
        errno = 0
        #expect(MQTTError.unreadableAnswer(malformed, version: .five)?.code == .unsupportedVersion)
        #expect(MQTTError.unreadableAnswer(malformed, version: .three)?.code == .refused)
        for version in [MQTTVersion.three, .five] {
            for status: Int32 in [2, 14, 18] {
                #expect(
                    MQTTError.unreadableAnswer(status, version: version)?.description
                        .hasPrefix("the server does not speak MQTT") == true)
            }
            #expect(MQTTError.unreadableAnswer(7, version: version) == nil)
        }
        errno = EPIPE
        #expect(MQTTError.unreadableAnswer(14, version: .five) == nil)
    }

    @Test("a system error has the error text of the system")
    func system() {
        errno = EHOSTUNREACH
        let error = MQTTError(library: 14)
        #expect(error == MQTTError(.unreachable, "No route to host"))
    }
}
