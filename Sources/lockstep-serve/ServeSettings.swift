import LockstepClickHouse
import LockstepCommandLine
import LockstepHTTP
import LockstepServe
import LockstepWire

/// The settings of `lockstep-serve` without a heading in its help.
struct ServeSettings: SettingGroup {
    let store = Setting(
        "store",
        """
        Store to read: sqlite:PATH, or clickhouse://[user@]host[:port][,host…]/database (default: none, only live data).
        """
    ) { try StoreAddress($0) }
    let storePassword = StorePasswordSettings()
    let root = Setting("root", "Topic prefix (default: lockstep).") { try TopicRoot($0) }
    let streams = Setting.streams
    let listen = Setting(
        "listen",
        """
        Address and port to listen on, or only a port of 127.0.0.1 (default: 127.0.0.1:8080). Other addresses than \
        those of this machine itself require --token-file.
        """, listenAddress)
    let tokenFile = Setting.file(
        "token-file",
        """
        File with the tokens of clients, readable only by its owner: lines 'read TOKEN' or 'operate TOKEN' (default: \
        none, everyone on this machine has all rights).
        """, accessTokens)
    let certificate = CertificateSettings()
    let readOnly = Setting.flag(
        "read-only", "Remove the right to send commands and to acknowledge events from all clients.")
    let tiles = Setting(
        "tiles",
        """
        Address of map tiles with the placeholders {z}, {x} and {y} (default: none). Browsers then request tiles from \
        this address, which reveals the positions that they show.
        """, tilesAddress)
    let joinURL = Setting(
        "join-url",
        """
        Address of a gateway, such as https://HOST:8443. The page then shows its QR code, with which a phone joins \
        (default: none).
        """, joinAddress)
    let page = Setting.file(
        "page", "Folder with the files of the page (default: share/lockstep/page beside the program's folder).",
        PageFolder.check)
    let maxConnections = Setting(
        "max-connections", "Maximum number of connections, a quarter of them for one address (default: 1000)."
    ) { try wholeNumber($0, in: 1...100_000) }
    let trustedProxy = Setting(
        "trusted-proxy",
        """
        Addresses or networks of reverse proxies, such as 127.0.0.1,10.1.0.0/16, whose field X-Forwarded-For names the \
        client for limits by address (default: none).
        """, trustedProxies)
    let maxUnsent = Setting(
        "max-unsent",
        """
        Maximum size of all answers that clients have not read yet; further ones wait, or are refused with 503 \
        (default: 128M).
        """
    ) { text in
        let size = try byteCount(text)
        guard size >= 1 << 20 else { throw CommandFailure("'\(text)' is too small: use at least 1M") }
        return size
    }
    let metricsDevices = Setting(
        "metrics-devices", "Maximum number of devices with metrics of their own (default: 100)."
    ) { try wholeNumber($0, in: 0...100_000) }
    let maxFuture = Setting(
        "max-future",
        """
        Maximum time that a sample may lie in the future; later ones are not shown. Use the value of the collectors \
        (default: 1d).
        """, parseDuration)
}
