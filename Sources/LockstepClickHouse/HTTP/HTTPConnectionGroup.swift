import CCurl

/// Several connections to one server, for requests at the same time. Use it from one thread at a time.
final class HTTPConnectionGroup {
    struct Request {
        /// The address.
        let url: String
        let body: [UInt8]
    }

    let count: Int
    private let connections: [HTTPConnection]
    private let handle: UnsafeMutableRawPointer

    /// - Throws: ``HTTPConnection/Failure`` if libcurl cannot start.
    /// - Parameter silenceLimit: see ``HTTPConnection/silenceLimit``.
    init(count: Int, headers: [String], timeout: Int, silenceLimit: Duration?) throws(HTTPConnection.Failure) {
        var connections: [HTTPConnection] = []
        // One may use a socket that another has opened.
        let sockets = PeerSockets()
        for _ in 0..<count {
            let connection = try HTTPConnection(headers: headers, timeout: timeout, sockets: sockets)
            connection.silenceLimit = silenceLimit
            connections.append(connection)
        }
        guard let handle = curl_multi_init() else {
            throw HTTPConnection.Failure(description: "libcurl cannot start")
        }
        self.count = count
        self.connections = connections
        self.handle = handle
    }

    deinit { curl_multi_cleanup(handle) }

    /// Sends up to ``count`` requests with the method POST, and waits for all answers.
    /// - Parameter timeout: the maximum duration in ms.
    /// - Returns: the answer to each request.
    func post(_ requests: [Request], timeout: Int) -> [Result<HTTPConnection.Response, HTTPConnection.Failure>] {
        precondition(requests.count <= count)
        var results: [Result<HTTPConnection.Response, HTTPConnection.Failure>] = []
        post(requests[...], [], timeout: timeout, into: &results)
        return results
    }

    /// Prepares the first of the remaining requests, so that its body stays in place until all are answered.
    private func post(
        _ remaining: ArraySlice<Request>, _ transfers: [CURLcode], timeout: Int,
        into results: inout [Result<HTTPConnection.Response, HTTPConnection.Failure>]
    ) {
        guard let request = remaining.first else {
            results = perform(transfers)
            return
        }
        request.body.withUnsafeBytes { bytes in
            let transfer = connections[transfers.count].prepare(request.url, body: bytes, timeout: timeout)
            post(remaining.dropFirst(), transfers + [transfer], timeout: timeout, into: &results)
        }
    }

    private func perform(
        _ transfers: [CURLcode]
    ) -> [Result<HTTPConnection.Response, HTTPConnection.Failure>] {
        var codes: [UnsafeMutableRawPointer: CURLcode] = [:]
        var code = CURLM_OK
        for (connection, transfer) in zip(connections, transfers) where transfer == CURLE_OK && code == CURLM_OK {
            code = curl_multi_add_handle(handle, connection.handle)
        }
        var running: Int32 = 1
        while code == CURLM_OK, running > 0 {
            code = curl_multi_perform(handle, &running)
            // Timeouts end each transfer, so that this waits for them, too.
            if code == CURLM_OK, running > 0 { code = curl_multi_poll(handle, nil, 0, 1000, nil) }
        }
        var left: Int32 = 0
        while let message = curl_multi_info_read(handle, &left)?.pointee {
            if message.msg == CURLMSG_DONE { codes[message.easy_handle] = message.data.result }
        }
        return zip(connections, transfers).map { connection, transfer in
            guard transfer == CURLE_OK else { return .failure(connection.failure(transfer)) }
            curl_multi_remove_handle(handle, connection.handle)
            if let result = codes[connection.handle] { return connection.result(result) }
            // Without a message, the group itself has failed.
            return .failure(HTTPConnection.Failure(description: String(cString: curl_multi_strerror(code))))
        }
    }
}
