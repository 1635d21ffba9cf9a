import FoundationEssentials
import LockstepModel

/// The address of a keeper, ZooKeeper, for its clients.
public struct KeeperAddress: Sendable {
    /// The host.
    public var host: String
    /// The port.
    public var port: UInt16

    /// Creates an address.
    public init(host: String = "127.0.0.1", port: UInt16) {
        self.host = host
        self.port = port
    }
}

/// The settings of a ClickHouse server that replicates its tables, as further elements of ``ClickHouseSettings``.
public struct ReplicaSettings: Sendable {
    /// Its name among the replicas.
    public var name: String
    /// The host at which the others reach it.
    public var host: String
    /// The port at which the others reach it.
    public var port: UInt16
    /// The keepers.
    public var keepers: [KeeperAddress]
    /// The time in ms after which keepers that hear nothing of the server end its session.
    public var sessionTimeout: Int

    /// Creates settings.
    public init(
        name: String, host: String = "127.0.0.1", port: UInt16, keepers: [KeeperAddress], sessionTimeout: Int
    ) {
        self.name = name
        self.host = host
        self.port = port
        self.keepers = keepers
        self.sessionTimeout = sessionTimeout
    }

    /// The elements of the settings file.
    public var elements: String {
        let nodes = keepers.map { "<node><host>\($0.host)</host><port>\($0.port)</port></node>" }.joined()
        return """
            <interserver_http_port>\(port)</interserver_http_port>
            <interserver_http_host>\(host)</interserver_http_host>
            <zookeeper>\(nodes)<session_timeout_ms>\(sessionTimeout)</session_timeout_ms></zookeeper>
            <macros><replica>\(name)</replica></macros>
            <!-- Merged parts have so many small files that they would fill the disk within minutes. -->
            <merge_tree>
                <old_parts_lifetime>5</old_parts_lifetime>
                <cleanup_delay_period>3</cleanup_delay_period>
                <cleanup_delay_period_random_add>1</cleanup_delay_period_random_add>
            </merge_tree>
            """
    }
}

/// The settings of a small ZooKeeper server.
public struct KeeperSettings: Sendable {
    /// The ports of one of several servers on this machine for the others.
    public struct Peer: Sendable {
        let port: UInt16
        let votePort: UInt16

        /// Chooses free ports.
        /// - Throws: ``ProgramError``.
        public init() throws(ProgramError) {
            port = try freePort()
            votePort = try freePort()
        }
    }

    /// The files that Debian's package `libzookeeper-java` installs.
    static let jars = ["/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-nop.jar"]
    /// Whether ZooKeeper is installed.
    public static var isInstalled: Bool {
        ProgramLocation.system("java") != nil && FileManager.default.fileExists(atPath: jars[0])
    }

    /// The folder of its data and settings.
    public var folder: String
    /// The port for clients.
    public var port: UInt16
    /// Whether it listens on loopback only.
    public var isLocal: Bool
    /// Its number among the peers.
    public var number: Int
    /// All servers on this machine, this one included; empty for a single server.
    public var peers: [Peer]

    /// Creates settings.
    public init(folder: String, port: UInt16, isLocal: Bool = true, number: Int = 0, peers: [Peer] = []) {
        self.folder = folder
        self.port = port
        self.isLocal = isLocal
        self.number = number
        self.peers = peers
    }

    /// Writes the files that the server needs.
    /// - Returns: the arguments of `java`.
    public func write() throws -> [String] {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try "\(number)\n".write(toFile: folder + "/myid", atomically: true, encoding: .utf8)
        var lines = [
            "tickTime=500", "initLimit=20", "syncLimit=10", "autopurge.purgeInterval=1", "admin.enableServer=false",
            "dataDir=\(folder)", "clientPort=\(port)",
        ]
        if isLocal { lines.append("clientPortAddress=127.0.0.1") }
        lines += peers.enumerated().map { "server.\($0)=127.0.0.1:\($1.port):\($1.votePort)" }
        let file = folder + "/zoo.cfg"
        try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        return [
            "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", Self.jars.joined(separator: ":"),
            "org.apache.zookeeper.server.quorum.QuorumPeerMain", file,
        ]
    }
}

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
