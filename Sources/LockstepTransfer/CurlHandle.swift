package import CCurl

/// A reason of libcurl why a request failed.
package struct CurlError: Error, CustomStringConvertible {
    /// The number of the reason.
    package let code: CURLcode
    /// The reason as libcurl describes it: `Couldn't connect to server`.
    package let description: String

    package init(_ code: CURLcode) {
        self.code = code
        description = String(cString: curl_easy_strerror(code))
    }

    /// The error if libcurl cannot start.
    package init() {
        code = CURLE_FAILED_INIT
        description = "libcurl cannot start"
    }
}

/// A handle of libcurl for one request after the other, with what its callbacks need. Use it from one thread at a time.
package final class CurlHandle {
    /// The handle for functions of libcurl.
    package let pointer: UnsafeMutableRawPointer
    /// The body of the answer.
    package private(set) var received: [UInt8] = []

    /// Returns the body of the answer, and keeps it no longer.
    package func takeReceived() -> [UInt8] {
        defer { received = [] }
        return received
    }

    /// Whether the body was larger than allowed.
    package private(set) var isTooLarge = false
    /// What callbacks of the owner need until the handle is gone.
    package var context: AnyObject?
    private var limit: Int?
    private var shouldStop: () -> Bool = { false }
    private var readLine: (UnsafeRawBufferPointer) -> Void = { _ in }
    private var upload: ArraySlice<UInt8> = []
    private var lists: [UnsafeMutablePointer<curl_slist>] = []

    /// Libcurl must be initialised once in a process, before a second thread uses it.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Creates a handle that uses no signals, and ignores the body of an answer.
    package init() throws(CurlError) {
        guard Self.isReady, let pointer = curl_easy_init() else { throw CurlError() }
        self.pointer = pointer
        try set(CURLOPT_NOSIGNAL, 1)
        // Unretained is safe: libcurl calls none of the functions after the handle is gone.
        let context = Unmanaged.passUnretained(self).toOpaque()
        try check(
            curl_set_writer(
                pointer,
                { bytes, size, count, context in
                    guard let bytes, let context else { return 0 }
                    let handle = Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue()
                    let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
                    return handle.append(part) ? part.count : 0
                }, context))
    }

    deinit {
        curl_easy_cleanup(pointer)
        for list in lists { curl_slist_free_all(list) }
    }

    package func set(_ option: CURLoption, _ number: Int) throws(CurlError) {
        try check(curl_set_long(pointer, option, number))
    }

    /// Sets a text, which libcurl copies.
    package func set(_ option: CURLoption, _ text: String) throws(CurlError) {
        try check(text.withCString { curl_set_pointer(pointer, option, $0) })
    }

    package func set(_ option: CURLoption, _ texts: [String]) throws(CurlError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for text in texts { list = curl_slist_append(list, text) }
        guard let list else { return }
        lists.append(list)
        try check(curl_set_pointer(pointer, option, list))
    }

    /// Sets the body of a request with the method POST.
    /// - Parameter body: bytes that stay in place until the request is performed.
    package func setBody(_ body: UnsafeRawBufferPointer) throws(CurlError) {
        try check(curl_set_size(pointer, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
        if let bytes = body.baseAddress { return try check(curl_set_pointer(pointer, CURLOPT_POSTFIELDS, bytes)) }
        // An empty array has no address, but libcurl needs one.
        var nothing: UInt8 = 0
        try check(curl_set_pointer(pointer, CURLOPT_COPYPOSTFIELDS, &nothing))
    }

    /// Sets what a request without the method POST sends.
    package func setUpload(_ bytes: [UInt8]) throws(CurlError) {
        upload = bytes[...]
        try set(CURLOPT_UPLOAD, 1)
        try check(
            curl_set_reader(
                pointer,
                { target, size, count, context in
                    guard let target, let context else { return 0 }
                    let handle = Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue()
                    let part = handle.upload.prefix(size * count)
                    handle.upload = handle.upload.dropFirst(part.count)
                    UnsafeMutableRawBufferPointer(start: target, count: part.count).copyBytes(from: part)
                    return part.count
                }, Unmanaged.passUnretained(self).toOpaque()))
    }

    /// Keeps the body of the next answer up to a size in bytes; a larger one fails.
    package func keepBody(limit: Int) {
        received = []
        isTooLarge = false
        self.limit = limit
    }

    /// Ends a request early. libcurl asks about once a second, and whenever data arrive.
    package func stop(when condition: @escaping () -> Bool) throws(CurlError) {
        shouldStop = condition
        try check(
            curl_set_progress(
                pointer,
                { context, _, _, _, _ in
                    guard let context else { return 0 }
                    return Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue().shouldStop() ? 1 : 0
                }, Unmanaged.passUnretained(self).toOpaque()))
    }

    /// Hands over the lines before the body of an answer: headers of HTTP, or the replies of a mail server.
    package func forEachLine(_ body: @escaping (UnsafeRawBufferPointer) -> Void) throws(CurlError) {
        readLine = body
        try check(
            curl_set_header_reader(
                pointer,
                { bytes, size, count, context in
                    guard let bytes, let context else { return 0 }
                    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                    Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue().readLine(line)
                    return line.count
                }, Unmanaged.passUnretained(self).toOpaque()))
    }

    /// Performs the request. It blocks the thread.
    package func perform() throws(CurlError) { try check(withExtendedLifetime(self) { curl_easy_perform(pointer) }) }

    /// The status of the answer of an HTTP server.
    package var status: Int {
        var status = 0
        return curl_get_status(pointer, &status) == CURLE_OK ? status : 0
    }

    /// Throws if a function of libcurl has failed.
    package func check(_ code: CURLcode) throws(CurlError) {
        guard code == CURLE_OK else { throw CurlError(code) }
    }

    private func append(_ part: UnsafeRawBufferPointer) -> Bool {
        guard let limit else { return true }
        isTooLarge = received.count + part.count > limit
        if !isTooLarge { received += part }
        return !isTooLarge
    }
}
