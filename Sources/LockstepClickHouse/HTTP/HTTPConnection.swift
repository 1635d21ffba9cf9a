import CCurl
import Glibc

/// A connection to an HTTP server that is kept open between requests. Use it from one thread at a time.
///
/// Only this type and ``HTTPConnectionGroup`` call libcurl.
final class HTTPConnection {
    /// The answer to a request.
    struct Response {
        /// The HTTP status code.
        var status: Int
        /// The body.
        var body: [UInt8]
    }

    /// A request that got no answer.
    struct Failure: Error, CustomStringConvertible {
        /// The number of the reason.
        var code = CURLE_FAILED_INIT
        /// The reason as libcurl describes it: `Couldn't connect to server`.
        let description: String
        /// Whether the host of the server did not answer the system at all.
        var isCutOff = false
    }

    /// The largest body of an answer, in bytes.
    private static let maxBody = 1 << 30

    private let timeout: Int
    let handle: UnsafeMutableRawPointer
    private var headers: UnsafeMutablePointer<curl_slist>?
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
        guard Self.isInitialized, let handle = curl_easy_init() else {
            throw Failure(description: "libcurl cannot start")
        }
        self.handle = handle
        self.timeout = timeout
        self.sockets = sockets
        // libcurl would wait for "100 Continue" before a large body.
        for line in lines + ["Expect:"] { headers = curl_slist_append(headers, line) }
        try set { curl_set_pointer($0, CURLOPT_HTTPHEADER, headers) }
        try set { curl_set_long($0, CURLOPT_NOSIGNAL, 1) }
        try set { curl_set_long($0, CURLOPT_CONNECTTIMEOUT_MS, connectTimeout) }
        try set { curl_set_long($0, CURLOPT_POST, 1) }
        try set { handle in
            curl_set_progress(
                handle,
                { context, _, _, _, _ in
                    guard let context else { return 0 }
                    return Unmanaged<HTTPConnection>.fromOpaque(context).takeUnretainedValue().mustEnd() ? 1 : 0
                }, Unmanaged.passUnretained(self).toOpaque())
        }
        // Unretained is safe: deinit closes the sockets that are left.
        try set { handle in
            curl_set_socket_callbacks(
                handle,
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
                }, Unmanaged.passUnretained(sockets).toOpaque())
        }
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headers)
    }

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

    /// A request that was prepared.
    struct Transfer {
        /// An error if the request cannot be sent.
        let code: CURLcode
        fileprivate let received: Buffer
    }

    /// Sends `body` with the method POST, and waits for the answer.
    /// - Parameter timeout: the maximum duration of this request in ms, if it differs from that of the connection.
    /// - Throws: ``Failure`` if there is no answer. The server may have processed the request.
    func post(_ url: String, body: [UInt8], timeout: Int? = nil) throws(Failure) -> Response {
        let result = body.withUnsafeBytes { bytes in
            let transfer = prepare(url, body: bytes, timeout: timeout)
            return self.result(of: transfer, transfer.code == CURLE_OK ? curl_easy_perform(handle) : transfer.code)
        }
        return try result.get()
    }

    /// Prepares a request, which libcurl then has to perform.
    /// - Parameter body: bytes that stay in place until the request is performed.
    func prepare(_ url: String, body: UnsafeRawBufferPointer, timeout: Int? = nil) -> Transfer {
        let received = Buffer(limit: Self.maxBody)
        isCutOff = false
        wasSilent = false
        do throws(Failure) {
            try set { curl_set_long($0, CURLOPT_TIMEOUT_MS, timeout ?? self.timeout) }
            try set { handle in url.withCString { curl_set_pointer(handle, CURLOPT_URL, $0) } }
            try set { handle in
                curl_set_writer(
                    handle,
                    { bytes, size, count, context in
                        guard let bytes, let context else { return 0 }
                        let buffer = Unmanaged<Buffer>.fromOpaque(context).takeUnretainedValue()
                        return buffer.append(UnsafeRawBufferPointer(start: bytes, count: size * count))
                            ? size * count : 0
                    }, Unmanaged.passUnretained(received).toOpaque())
            }
            try set { curl_set_size($0, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)) }
            try set { handle in
                if let bytes = body.baseAddress { return curl_set_pointer(handle, CURLOPT_POSTFIELDS, bytes) }
                // An empty array has no address, but libcurl needs one.
                var nothing: UInt8 = 0
                return curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, &nothing)
            }
        } catch { return Transfer(code: error.code, received: received) }
        return Transfer(code: CURLE_OK, received: received)
    }

    /// Returns the answer to a request that was performed with the result `code`.
    func result(of transfer: Transfer, _ code: CURLcode) -> Result<Response, Failure> {
        guard code == CURLE_OK else { return .failure(failure(code)) }
        var status = 0
        let code = curl_get_status(handle, &status)
        guard code == CURLE_OK else { return .failure(failure(code)) }
        return .success(Response(status: status, body: transfer.received.bytes))
    }

    private func set(_ option: (UnsafeMutableRawPointer) -> CURLcode) throws(Failure) {
        let code = option(handle)
        guard code == CURLE_OK else { throw failure(code) }
    }

    func failure(_ code: CURLcode) -> Failure {
        if isCutOff {
            return Failure(code: code, description: "its host does not acknowledge anything", isCutOff: true)
        }
        return Failure(
            code: code, description: String(cString: curl_easy_strerror(code)), isCutOff: isUnreachable(code))
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

    /// Whether libcurl is initialized. It has to be, once in a process, before a second thread uses it.
    private static let isInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// The body of an answer.
    fileprivate final class Buffer {
        private(set) var bytes: [UInt8] = []
        private let limit: Int

        init(limit: Int) { self.limit = limit }

        func append(_ more: UnsafeRawBufferPointer) -> Bool {
            guard bytes.count + more.count <= limit else { return false }
            bytes += more
            return true
        }
    }
}
