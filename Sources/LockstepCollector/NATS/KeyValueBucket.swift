import CNATS
import LockstepModel

/// A key-value bucket of a NATS cluster, with writes that succeed only if nobody else has written before.
///
/// Calls block, at most for the timeouts of the options. An instance is used by one thread at a time. It connects with the
/// first call, and again with the first one after the connection was lost.
public final class KeyValueBucket {
    private let name: String
    private let options: NATSOptions
    private var connection: OpaquePointer?
    private var stream: OpaquePointer?
    private var store: OpaquePointer?

    /// Creates a bucket without a connection. It is created in the cluster with the first call if it does not exist: with
    /// three replicas, or one if the server is not part of a cluster.
    /// - Parameter name: letters, digits, `_` and `-`.
    public init(_ name: String, _ options: NATSOptions) {
        self.name = name
        self.options = options
    }

    deinit { close() }

    /// Returns the current value of a key, or nil if there is none.
    ///
    /// A replica that lags behind may answer with an earlier value.
    /// - Throws: ``NATSError`` if no server answers, or it refuses.
    public func value(of key: String) throws(NATSError) -> KeyValueEntry? {
        let store = try open()
        var entry: OpaquePointer?
        let status = kvStore_Get(&entry, store, key)
        if status == NATS_NOT_FOUND { return nil }
        guard status == NATS_OK else { throw failure(status, "cannot read '\(key)' in the bucket '\(name)'") }
        defer { kvEntry_Destroy(entry) }
        let bytes = UnsafeRawBufferPointer(start: kvEntry_Value(entry), count: Int(kvEntry_ValueLen(entry)))
        return KeyValueEntry(value: Array(bytes), revision: kvEntry_Revision(entry))
    }

    /// Writes a value if the last write of the key has this revision.
    ///
    /// If an error is thrown, the value may have been written nevertheless: the answer may be lost.
    /// - Parameter revision: the expected revision, or nil if the key must not exist.
    /// - Returns: the revision of the new value.
    /// - Throws: ``NATSError`` if the revision is another one, no server answers, or it refuses.
    public func write(_ value: [UInt8], to key: String, expecting revision: UInt64?) throws(NATSError) -> UInt64 {
        let store = try open()
        var written: UInt64 = 0
        let status = value.withUnsafeBytes { bytes in
            if let revision {
                kvStore_Update(&written, store, key, bytes.baseAddress, Int32(bytes.count), revision)
            } else {
                kvStore_Create(&written, store, key, bytes.baseAddress, Int32(bytes.count))
            }
        }
        guard status == NATS_OK else { throw failure(status, "cannot write '\(key)' in the bucket '\(name)'") }
        return written
    }

    /// Writes a key, to find out whether this user may write.
    /// - Parameter key: a key that nobody else uses.
    /// - Throws: ``NATSError`` if no server answers, or it refuses. A server does not answer a write that it does not permit.
    public func checkWrite(to key: String) throws(NATSError) {
        let revision = try value(of: key)?.revision
        do throws(NATSError) { _ = try write([UInt8(ascii: "1")], to: key, expecting: revision) } catch {
            throw NATSError(
                "\(error). If most servers of the cluster run, the user must be allowed to publish to $KV.\(name).>, as in "
                    + "broker-config/nats/common.conf")
        }
    }

    /// Closes the connection. The next call opens another one.
    public func close() {
        kvStore_Destroy(store)
        jsCtx_Destroy(stream)
        natsConnection_Destroy(connection)
        (store, stream, connection) = (nil, nil, nil)
    }

    /// Returns the error, and closes the connection if its server may be the cause. The next call then uses another one.
    private func failure(_ status: natsStatus, _ task: String) -> NATSError {
        let error = NATSError(status, task)
        if !error.description.contains("wrong last sequence") { close() }
        return error
    }

    private func open() throws(NATSError) -> OpaquePointer {
        if let store, natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED { return store }
        close()
        do throws(NATSError) {
            let options = try self.options.makeLibraryOptions()
            defer { natsOptions_Destroy(options) }
            try check(natsConnection_Connect(&connection, options), "cannot connect to \(self.options.servers)")
            var settings = jsOptions()
            jsOptions_Init(&settings)
            settings.Wait = self.options.requestTimeout
            try check(natsConnection_JetStream(&stream, connection, &settings), "cannot use JetStream")
            return try bind()
        } catch {
            close()
            throw error
        }
    }

    /// Binds to the bucket, and creates it if it does not exist.
    private func bind() throws(NATSError) -> OpaquePointer {
        var status = js_KeyValue(&store, stream, name)
        if status == NATS_NOT_FOUND {
            status = create(replicas: 3)
            if status == NATS_ERR, NATSError(status, "").description.contains("non-clustered") {
                status = create(replicas: 1)
            }
            // Another client may have created it meanwhile.
            if status == NATS_ERR {
                let error = NATSError(status, "cannot create the bucket '\(name)'")
                guard js_KeyValue(&store, stream, name) == NATS_OK, let store else { throw error }
                return store
            }
        }
        try check(status, "cannot open the bucket '\(name)': is JetStream enabled, and may this user use it?")
        guard let store else { throw NATSError("cannot open the bucket '\(name)'") }
        return store
    }

    private func create(replicas: Int32) -> natsStatus {
        name.withCString { name in
            var settings = kvConfig()
            kvConfig_Init(&settings)
            settings.Bucket = name
            settings.History = 1
            settings.StorageType = js_FileStorage
            settings.Replicas = replicas
            return js_CreateKeyValue(&store, stream, &settings)
        }
    }

    private func check(_ status: natsStatus, _ task: String) throws(NATSError) {
        guard status == NATS_OK else { throw NATSError(status, task) }
    }
}

/// A value of a bucket.
public struct KeyValueEntry: Hashable, Sendable {
    /// The value.
    public let value: [UInt8]
    /// The revision, which is higher for each later write of the bucket.
    public let revision: UInt64

    /// Creates an entry.
    public init(value: [UInt8], revision: UInt64) {
        self.value = value
        self.revision = revision
    }
}

/// Returns a text as a key: letters, digits, `_`, `-` and `/` stay, and every other byte becomes `=` with two digits.
///
/// NATS allows few characters in keys, and a dot separates levels. Different texts have different keys.
public func keyValueKey(_ text: String) -> String {
    text.utf8.map { byte in
        byte.isASCIIAlphanumeric || "_-/".utf8.contains(byte)
            ? String(Unicode.Scalar(byte)) : "=" + [byte].hexadecimal.uppercased()
    }.joined()
}

/// An error of a NATS client or server.
public struct NATSError: Error, Hashable, CustomStringConvertible {
    /// What happened.
    public let description: String

    init(_ description: String) { self.description = description }

    /// Creates the error of a call of the library, with the library's explanation.
    init(_ status: natsStatus, _ task: String) {
        var last = status
        let detail = nats_GetLastError(&last).map { String(cString: $0) } ?? ""
        let name = natsStatus_GetText(status).map { String(cString: $0) } ?? "error \(status.rawValue)"
        self.init("\(task): " + (detail.isEmpty || detail == name ? name : "\(name): \(detail)"))
    }
}
