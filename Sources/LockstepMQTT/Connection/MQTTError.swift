import CMosquitto
import Glibc

/// An error of the connection to a broker.
public struct MQTTError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: Hashable, Sendable {
        /// The TCP connection could not be established: connection refused, no route or no answer.
        case unreachable
        /// The name of the host cannot be resolved.
        case unknownHost
        /// The broker ended the connection during the TLS handshake, without a reason.
        case handshakeAborted
        /// The TLS handshake failed because of a certificate, a CA or a host name.
        case tls
        /// The broker refused user name or password.
        case badCredentials
        /// The broker denied access.
        case notAuthorized
        /// The broker does not support this version of MQTT.
        case unsupportedVersion
        /// The broker refused the connection or a message for another reason.
        case refused
        /// Another client connected with the same client id.
        case takenOver
        /// The connection was lost.
        case connectionLost
        /// The message is too large for the broker.
        case tooLarge
        /// libmosquitto rejected a value, such as a path or a topic.
        case invalid
        /// Any other error.
        case other
    }

    /// The kind of error.
    public let code: Code
    /// The text for the user: the cause and, if known, a suggestion. It never contains a password.
    public let description: String

    /// Creates an error.
    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}

private let connectionRefused =
    "Connection refused: nothing listens at this port; 'lockstep up' starts a broker on this machine"

extension MQTTError {
    /// Creates the error for a return value of libmosquitto (`MOSQ_ERR_…`). Reads `errno` for `MOSQ_ERR_ERRNO`.
    init(library status: Int32, detail: String? = nil) {
        // The system reports a lost connection as EPIPE while writing and as ECONNRESET while reading.
        let isLost = status == Int32(MOSQ_ERR_ERRNO.rawValue) && [EPIPE, ECONNRESET].contains(errno)
        let status = isLost ? MOSQ_ERR_CONN_LOST : mosq_err_t(status)
        let code: Code =
            switch status {
            case MOSQ_ERR_ERRNO, MOSQ_ERR_CONN_REFUSED: .unreachable
            case MOSQ_ERR_EAI, MOSQ_ERR_LOOKUP: .unknownHost
            case MOSQ_ERR_TLS, MOSQ_ERR_TLS_HANDSHAKE: .tls
            case MOSQ_ERR_CONN_LOST, MOSQ_ERR_NO_CONN, MOSQ_ERR_KEEPALIVE: .connectionLost
            case MOSQ_ERR_PAYLOAD_SIZE, MOSQ_ERR_OVERSIZE_PACKET: .tooLarge
            case MOSQ_ERR_INVAL, MOSQ_ERR_MALFORMED_UTF8: .invalid
            case MOSQ_ERR_AUTH, MOSQ_ERR_ACL_DENIED: .notAuthorized
            default: .other
            }
        let text: String
        switch status {
        case MOSQ_ERR_ERRNO where errno == ECONNREFUSED: text = connectionRefused
        case MOSQ_ERR_ERRNO: text = String(cString: strerror(errno))
        case MOSQ_ERR_EAI, MOSQ_ERR_LOOKUP: text = "cannot resolve the host name"
        case MOSQ_ERR_CONN_REFUSED: text = connectionRefused
        case MOSQ_ERR_KEEPALIVE: text = "the broker stopped responding"
        case MOSQ_ERR_CONN_LOST: text = "the connection was lost"
        case MOSQ_ERR_TLS, MOSQ_ERR_TLS_HANDSHAKE: text = "TLS failed"
        default: text = String(cString: mosquitto_strerror(Int32(status.rawValue)))
        }
        self.init(code, detail.map { "\(text): \($0)" } ?? text)
    }

    /// Returns the error for an answer to CONNECT that libmosquitto cannot read, such as that of a web server. Returns nil
    /// if a return value of libmosquitto has another cause.
    ///
    /// A broker that does not support MQTT 5 refuses it with a CONNACK of MQTT 3.1.1, which is too short for MQTT 5.
    /// libmosquitto 2.0.11 recognises it; 2.0.21 reports it as malformed.
    static func unreadableAnswer(_ status: Int32, version: MQTTVersion) -> MQTTError? {
        switch mosq_err_t(status) {
        case MOSQ_ERR_MALFORMED_PACKET where version == .five: unsupported(version)
        case MOSQ_ERR_PROTOCOL, MOSQ_ERR_MALFORMED_PACKET, MOSQ_ERR_MALFORMED_UTF8: noMQTT
        // For an unknown type of packet, although no call of the system has failed.
        case MOSQ_ERR_ERRNO where errno == 0: noMQTT
        default: nil
        }
    }

    /// The error of a server that has accepted a connection, but has not answered CONNECT.
    package static let silence = MQTTError(
        .refused,
        "the server accepts connections, but does not answer as an MQTT broker: check that the port is that of an MQTT "
            + "broker, and whether it uses TLS")

    private static let noMQTT = MQTTError(
        .refused,
        "the server does not speak MQTT: check that the port is that of an MQTT broker, and whether it uses TLS")

    private static func unsupported(_ version: MQTTVersion) -> MQTTError {
        MQTTError(.unsupportedVersion, "the broker does not support MQTT \(version.rawValue)")
    }

    /// Creates the error for the reason code of a CONNACK. The codes depend on the version of MQTT.
    init(connectReason reason: Int32, version: MQTTVersion) {
        switch (version, reason) {
        case (_, 132), (.three, 1): self = .unsupported(version)
        case (.three, 4), (.five, 134): self.init(.badCredentials, "the broker refused the user name or password")
        case (.three, 5), (.five, 135):
            self.init(.notAuthorized, "the broker denied access: check user name, password and access rights")
        case (.three, 2), (.five, 133):
            self.init(
                .refused, "the broker refused the client id: its rules must allow ids of letters, digits, - and _")
        case (.three, _):
            self.init(
                .refused, "the broker refused the connection: \(String(cString: mosquitto_connack_string(reason)))")
        case (.five, _):
            self.init(
                .refused, "the broker refused the connection: \(String(cString: mosquitto_reason_string(reason)))")
        }
    }

    /// Creates the error for the reason code of a DISCONNECT (MQTT 5), or for a return value of libmosquitto.
    init(disconnectReason reason: Int32, detail: String?) {
        switch reason {
        case 142: self.init(.takenOver, "session taken over: another client connected with the same client id")
        case 149: self.init(.tooLarge, "a packet was too large for the broker")
        case 128...:
            self.init(.refused, "the broker closed the connection: \(String(cString: mosquitto_reason_string(reason)))")
        default: self.init(library: reason, detail: detail)
        }
    }
}
