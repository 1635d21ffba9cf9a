import LockstepCommandLine
import LockstepHTTP
import LockstepServe

/// Parses an address to listen on.
func listenAddress(_ text: String) throws -> ListenAddress {
    guard let address = ListenAddress(text) else {
        throw CommandFailure("'\(text)' is not an address: use 127.0.0.1:8080, [::1]:8080, 0.0.0.0:443 or 8080")
    }
    return address
}

/// Reads a token file, which only its owner may access.
func accessTokens(_ path: String) throws -> AccessTokens {
    try SecretFile.check(path)
    let text = try TextFile.read(path, "the tokens")
    do { return try AccessTokens(parsing: text) } catch { throw CommandFailure("\(path): \(error)") }
}

/// Parses the addresses of reverse proxies.
func trustedProxies(_ text: String) throws -> TrustedProxies {
    guard let proxies = TrustedProxies(text) else {
        throw CommandFailure("'\(text)' is not a list of addresses: use 127.0.0.1,10.1.0.0/16")
    }
    return proxies
}

/// Parses the address of map tiles.
func tilesAddress(_ text: String) throws -> String {
    guard ServeConfiguration.isTilesAddress(text) else {
        throw CommandFailure("'\(text)' is not an address of tiles: use https://HOST/{z}/{x}/{y}.png")
    }
    return text
}

/// Parses the address of a gateway.
func joinAddress(_ text: String) throws -> String {
    guard let address = ServeConfiguration.joinURL(text) else {
        throw CommandFailure("'\(text)' is not the address of a gateway: use https://HOST:PORT, without a token")
    }
    return address
}
