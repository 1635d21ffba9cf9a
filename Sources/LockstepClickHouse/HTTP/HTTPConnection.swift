import CCurl
import Glibc
import LockstepModel
import LockstepTransfer

/// A connection to an HTTP server that is kept open between requests. Use it from one thread at a time.
final class HTTPConnection {
    /// The answer to a request.
    struct Response {
        var status: Int
        var body: [UInt8]
    }

    /// A request that got no answer.
    struct Failure: Error, CustomStringConvertible {
        var code = CURLE_FAILED_INIT
        /// The reason as libcurl describes it: `Couldn't connect to server`.
        let description: String
        /// Whether the host of the server did not answer the system at all.
        var isCutOff = false
    }

    /// The largest body of an answer, in bytes.
    private static let maxBody = 1 << 30

    private let timeout: Int
    private let curl: CurlHandle
    /// Whether the current request should end early. libcurl asks about once a second, and whenever data arrive.
    var shouldStop: () -> Bool = { false }
    /// The time for which the host of the server may acknowledge nothing during a request; nil for no limit.
    var silenceLimit: Duration?
    /// Whether the current request ended because of ``silenceLimit``.
    private var isCutOff = false
    /// Whether the host was silent when libcurl last asked.
    private var wasSilent = false
    private let sockets: PeerSockets

    /// - Parameters:
    ///   - headers: the header lines of every request.
    ///   - timeout: the maximum duration of a request, in ms.
    ///   - sockets: shared by the connections of a group.
    /// - Throws: ``Failure`` if libcurl cannot start.
    init(
        headers lines: [String], connectTimeout: Int = 5000, timeout: Int = 300_000,
        sockets: PeerSockets = PeerSockets()
    ) throws(Failure) {
        self.timeout = timeout
        self.sockets = sockets
        do throws(CurlError) {
            curl = try CurlHandle()
            // libcurl would wait for "100 Continue" before a large body.
            try curl.set(CURLOPT_HTTPHEADER, lines + ["Expect:"])
            try curl.set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeout)
            try curl.set(CURLOPT_POST, 1)
            // Unretained is safe, because the handle closes the sockets that are left when it ends.
            curl.context = sockets
            try curl.check(
                curl_set_socket_callbacks(
                    curl.pointer,
                    { context, descriptor, _ in
                        if let context {
                            Unmanaged<PeerSockets>.fromOpaque(context).takeUnretainedValue().opened(descriptor)
                        }
                        return CURL_SOCKOPT_OK
                    },
                    { context, descriptor in
                        guard let context else { return close(descriptor) }
                        Unmanaged<PeerSockets>.fromOpaque(context).takeUnretainedValue().closed(descriptor)
                        return 0
                    }, Unmanaged.passUnretained(sockets).toOpaque()))
            try curl.stop { [unowned self] in mustEnd() }
        } catch { throw Failure(code: error.code, description: error.description) }
    }

    /// The handle for functions of libcurl.
    var handle: UnsafeMutableRawPointer { curl.pointer }

    /// The time from which silence is suspicious, although it does not end a request.
    private static let suspiciousSilence = Duration.seconds(2)

    /// Whether the host of the server may be about to exceed ``silenceLimit``.
    var hasSuspiciousPeer: Bool { silenceLimit != nil && sockets.isSilent(for: Self.suspiciousSilence) }

    /// Returns whether the current request has to end early.
    private func mustEnd() -> Bool {
        if let silenceLimit {
            wasSilent = sockets.isSilent(for: Self.suspiciousSilence)
            isCutOff = wasSilent && sockets.isSilent(for: silenceLimit)
        }
        return isCutOff || shouldStop()
    }

    /// Sends `body` with the method POST, and waits for the answer.
    /// - Parameter timeout: the maximum duration of this request in ms, if it differs from that of the connection.
    /// - Throws: ``Failure`` if there is no answer. The server may have processed the request.
    func post(_ url: String, body: [UInt8], timeout: Int? = nil) throws(Failure) -> Response {
        let result = body.withUnsafeBytes { bytes in
            let code = prepare(url, body: bytes, timeout: timeout)
            return self.result(code == CURLE_OK ? curl_easy_perform(handle) : code)
        }
        return try result.get()
    }

    /// Prepares a request, which libcurl then has to perform.
    /// - Parameter body: bytes that stay in place until the request is performed.
    /// - Returns: an error if the request cannot be sent.
    func prepare(_ url: String, body: UnsafeRawBufferPointer, timeout: Int? = nil) -> CURLcode {
        isCutOff = false
        wasSilent = false
        do throws(CurlError) {
            try curl.set(CURLOPT_TIMEOUT_MS, timeout ?? self.timeout)
            try curl.set(CURLOPT_URL, url)
            try curl.setBody(body)
        } catch { return error.code }
        curl.keepBody(limit: Self.maxBody)
        return CURLE_OK
    }

    /// Returns the answer to the request, which was performed with the result `code`.
    func result(_ code: CURLcode) -> Result<Response, Failure> {
        let body = curl.takeReceived()
        guard code == CURLE_OK else { return .failure(failure(code)) }
        return .success(Response(status: curl.status, body: body))
    }

    func failure(_ code: CURLcode) -> Failure {
        if isCutOff {
            return Failure(code: code, description: "its host does not acknowledge anything", isCutOff: true)
        }
        return Failure(code: code, description: CurlError(code).description, isCutOff: isUnreachable(code))
    }

    /// Returns whether a request failed because the host could not be reached in time, and not because it refused. A host
    /// whose queue of connections is full, or whose name is not found out in time, looks the same.
    private func isUnreachable(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_OPERATION_TIMEDOUT:
            if wasSilent { return true }
            var pretransfer: curl_off_t = 0
            return curl_get_pretransfer_time(handle, &pretransfer) == CURLE_OK && pretransfer == 0
        case CURLE_COULDNT_CONNECT, CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            var number = 0
            return curl_get_os_error(handle, &number) == CURLE_OK
                && [ETIMEDOUT, EHOSTUNREACH, ENETUNREACH].contains(Int32(number))
        default: return false
        }
    }
}

/// The open sockets to one server, to find out whether its host still acknowledges what is sent. Use it from one thread at a
/// time.
///
/// The system acknowledges packets also while the program is busy or stopped. So a host that acknowledges nothing cannot be
/// reached, however long its server may take for an answer.
final class PeerSockets {
    private var descriptors: Set<Int32> = []

    /// The number of packets in a row that were sent again, or probes, without an acknowledgement, from which a host counts
    /// as silent. With one, a single lost packet would do.
    private static let minAttempts: UInt8 = 2

    /// Lets the system probe a new socket while it waits for data.
    func opened(_ descriptor: Int32) {
        descriptors.insert(descriptor)
        setSocketOption(SOL_SOCKET, SO_KEEPALIVE, 1, of: descriptor)
        setSocketOption(Int32(IPPROTO_TCP), TCP_KEEPIDLE, 2, of: descriptor)
        setSocketOption(Int32(IPPROTO_TCP), TCP_KEEPINTVL, 1, of: descriptor)
    }

    func closed(_ descriptor: Int32) {
        descriptors.remove(descriptor)
        close(descriptor)
    }

    /// Returns whether the host has acknowledged nothing on one of the connections for this time, although it should have.
    func isSilent(for limit: Duration) -> Bool {
        let milliseconds = UInt32(limit / .milliseconds(1))
        return descriptors.contains { descriptor in
            guard let info = Self.information(of: descriptor), info.tcpi_state == Self.established else { return false }
            return min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv) >= milliseconds
                && max(info.tcpi_retransmits, info.tcpi_probes) >= Self.minAttempts
        }
    }

    private static let established = 1 as UInt8

    private static func information(of descriptor: Int32) -> tcp_info? {
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        return getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 ? info : nil
    }
}
