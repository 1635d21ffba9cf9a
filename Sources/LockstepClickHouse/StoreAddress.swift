public import LockstepStore

/// The address of a store: `sqlite:PATH` or `clickhouse://[user@]host[:port][,host…]/database`.
public enum StoreAddress: Hashable, Sendable {
    /// An SQLite file.
    case sqlite(path: String)
    /// A ClickHouse database.
    case clickHouse(ClickHouseAddress)

    /// Parses an address.
    /// - Throws: ``StoreAddressError`` or ``ClickHouseAddressError`` if the text is not a valid address.
    public init(_ text: String) throws {
        if text.hasPrefix("sqlite:"), text.count > 7 {
            self = .sqlite(path: String(text.dropFirst(7)))
        } else if text.hasPrefix("clickhouse") {
            self = .clickHouse(try ClickHouseAddress(text))
        } else {
            throw StoreAddressError(text: text)
        }
    }
}

/// The error thrown for a text that is not the address of a store.
public struct StoreAddressError: Error, Hashable, CustomStringConvertible {
    let text: String
    /// The text with the valid forms.
    public var description: String {
        // A text with @ may contain a password.
        text.hasSuffix(".db") && !text.contains("@") && !text.contains(":")
            ? "'\(text)' is not a store: a file needs 'sqlite:' before it: use 'sqlite:\(text)'"
            : "\(text.contains("@") ? "the address" : "'\(text)'") is not a store: use sqlite:PATH or clickhouse://[user@]host[:port][,host…]/database"
    }
}

extension StoreAddress {
    /// Returns the address with the password of the ClickHouse user, if there is one. A file needs none.
    public func with(password: String?) -> StoreAddress {
        guard case .clickHouse(var address) = self else { return self }
        address.password = password
        return .clickHouse(address)
    }

    /// Opens the store for reading.
    /// - Parameter timeout: the maximum duration of a request to a server, in ms.
    /// - Throws: `StoreError` if the store cannot be read.
    public func reader(timeout: Int = 300_000) throws(StoreError) -> StoreReader {
        switch self {
        case .sqlite(let path): try StoreReader(path: path)
        case .clickHouse(let address): try StoreReader(address, timeout: timeout)
        }
    }
}
