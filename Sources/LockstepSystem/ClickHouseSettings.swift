/// The settings of a small ClickHouse server for tests and benchmarks.
public struct ClickHouseSettings: Sendable {
    /// The folder of its files.
    public var folder: String
    /// The address to listen on, `127.0.0.1` or `0.0.0.0`.
    public var address: String
    /// The port of the HTTP interface.
    public var port: UInt16
    /// The port of `clickhouse-client`.
    public var nativePort: UInt16
    /// Further elements of the settings.
    public var more: String

    /// Creates settings.
    public init(
        folder: String, address: String = "127.0.0.1", port: UInt16, nativePort: UInt16, more: String = ""
    ) {
        self.folder = folder
        self.address = address
        self.port = port
        self.nativePort = nativePort
        self.more = more
    }

    /// The path of the file of users.
    public var usersFile: String { folder + "/users.xml" }

    /// The text of the settings file, which refers to the ``usersFile``.
    public var text: String {
        """
        <yandex>
            <logger><level>warning</level><console>1</console></logger>
            <listen_host>\(address)</listen_host>
            <http_port>\(port)</http_port>
            <tcp_port>\(nativePort)</tcp_port>
            <path>\(folder)/data/</path>
            <tmp_path>\(folder)/tmp/</tmp_path>
            <mark_cache_size>67108864</mark_cache_size>
            <users_config>\(usersFile)</users_config>
            <default_profile>default</default_profile>
            <default_database>default</default_database>
            \(more)
        </yandex>
        """
    }

    /// The text of the file of users: one without a password, and `guarded` with the password `secret`.
    public var users: String {
        let clients = address == "127.0.0.1" ? "127.0.0.1" : "::/0"
        return """
            <yandex>
                <profiles><default/></profiles>
                <quotas><default/></quotas>
                <users>
                    <default>
                        <password></password><networks><ip>\(clients)</ip></networks>
                        <profile>default</profile><quota>default</quota>
                    </default>
                    <guarded>
                        <password>secret</password><networks><ip>\(clients)</ip></networks>
                        <profile>default</profile><quota>default</quota>
                    </guarded>
                </users>
            </yandex>
            """
    }
}
