import LockstepClickHouse
import LockstepCollector
import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepWire

/// The settings of `lockstep-collector` without a heading in its help.
struct CollectorSettings: SettingGroup {
    let store = Setting(
        "store",
        """
        Store for the samples (required): sqlite:PATH, or clickhouse://[user@]host[:port][,host…]/database for a \
        ClickHouse server or its replicas. The file or database is created if it does not exist.
        """
    ) { try StoreAddress($0) }
    let storePassword = StorePasswordSettings()
    let id = Setting(
        "id",
        """
        Id of this collector; the broker keeps its session under this id (default: main). While a collector with \
        this id is running with another store, this one does not start.
        """
    ) { try CollectorID(validating: $0) }
    let takeOver = Setting.flag(
        "take-over",
        """
        Start although a collector with this id is running with another store, and replace it: the other one then \
        stays disconnected while this one is running, see docs/operations.md.
        """)
    let group = Setting.list(
        "group",
        "Collect only the devices of this group; may be repeated (default: all groups).")
    let cluster = Setting(
        "cluster",
        """
        Name of a cluster of collectors that share a ClickHouse store, see docs/cluster.md. It needs --lease-server. \
        All collectors need the same --group options, each with GROUP, or GROUP:COUNT to divide a group into \
        partitions (default: none).
        """, clusterName)
    let leaseServer = Setting(
        "lease-server",
        """
        NATS servers with JetStream that keep the leases of a cluster, whatever the broker is: nats://host[:port] \
        or tls://host[:port], separated by commas. User, password and certificates are those of the broker.
        """
    ) { try NATSServers($0) }
    let standby = Setting.flag(
        "standby",
        """
        Wait until no other collector with this id is active, and then take over its SQLite store and its session, \
        see docs/operations.md.
        """)
    let root = Setting("root", "Topic prefix (default: lockstep).") { try TopicRoot($0) }
    let silence = Setting(
        "silence",
        "Time without messages after which the state of a device becomes background (default: 75s).", parseDuration)
    let settle = Setting(
        "settle",
        """
        Maximum time in the state resumed; after it, or with the next live sample, the state becomes active \
        (default: 5s).
        """, parseDuration)
    let maxPayload = Setting("max-payload", "Maximum size of a payload in bytes (default: 1M).", byteCount)
    let maxSamples = Setting(
        "max-samples",
        "Maximum number of samples in a batch (default: 10000)."
    ) { try wholeNumber($0, in: 1...1_000_000) }
    let maxDevices = Setting(
        "max-devices",
        "Maximum number of devices; messages from further devices are rejected (default: 100000)."
    ) { try wholeNumber($0, in: 1...10_000_000) }
    let maxFuture = Setting(
        "max-future",
        "Maximum time that a sample may lie in the future; batches with later samples are rejected (default: 1d).",
        parseDuration)
    let keepRejected = Setting(
        "keep-rejected",
        "Maximum number of rejected messages to keep; the oldest are deleted first (default: 10000)."
    ) { try wholeNumber($0, in: 0...100_000_000) }
    let keepConflicts = Setting(
        "keep-conflicts",
        "Maximum number of conflicting samples to keep; further ones are only counted (default: 100000)."
    ) { try wholeNumber($0, in: 0...100_000_000) }
    let quorum = Setting(
        "quorum",
        """
        Number of ClickHouse replicas that must hold a sample before it is acknowledged: majority, or a number, see \
        docs/replicas.md (default: none, the tables are not replicated).
        """, clickHouseQuorum)
    let keep = Setting<String>.pairs(
        "keep", placeholder: "pattern=age",
        """
        Age from which samples leave the store: STREAM=AGE or GROUP/DEVICE/STREAM=AGE, such as 'motion/*=7d', \
        'lab/*/location=30d' or steps=forever; at least 1h; may be repeated. The most specific one counts, see \
        docs/retention.md (default: everything is kept).
        """
    ) { $0 }
    let keepSummaries = Setting<String>.pairs(
        "keep-summaries", placeholder: "pattern=age",
        """
        Age from which the summaries of minutes leave whose samples have left by --keep or --max-store: STREAM=AGE or \
        GROUP/DEVICE/STREAM=AGE, such as 'motion/*=365d'; at least 1h; may be repeated. Only for SQLite, see \
        docs/retention.md (default: they leave with the samples).
        """
    ) { $0 }
    let confirmRetention = Setting.flag(
        "confirm-retention",
        """
        Let more than half of the samples of a stream leave at once, such as with the first rules of a large store.
        """)
    let maxStore = Setting(
        "max-store",
        """
        Greatest size of an SQLite store, such as 20GB, or 50% of its disk. When it is reached, the oldest samples leave \
        (default: no limit).
        """, sizeLimit)
    let maxStoreOrder = Setting.list(
        "max-store-order", placeholder: "pattern",
        """
        Stream, or motion/*, whose oldest samples leave first at --max-store; may be repeated. The others follow in the \
        order of their rates, the highest first.
        """)
    let sync = Setting(
        "sync",
        """
        Durability of acknowledged samples: full or normal (default: full). With full, each commit is synced to \
        disk before it is acknowledged. With normal, a power cut or kernel crash can lose samples that were \
        acknowledged in the last seconds and that agents have already deleted. ClickHouse before 20.10 supports \
        only normal.
        """, survivesPowerLoss)
    let rules = Setting.file("rules", "YAML file with rules, see docs/rules.md (default: none).")
    let streams = Setting.streams
}

private func clusterName(_ text: String) throws -> GroupID {
    guard let cluster = GroupID(rawValue: text) else {
        throw CommandFailure("'\(text)' is not a name of a cluster: use 1 to 64 characters of A-Z a-z 0-9 _ . -")
    }
    return cluster
}

private func sizeLimit(_ text: String) throws -> SizeLimit {
    guard text.hasSuffix("%") else {
        let number = ["KB", "MB", "GB"].contains(text.suffix(2)) ? String(text.dropLast()) : text
        return .bytes(Int64(try byteCount(number)))
    }
    return .share(Double(try wholeNumber(String(text.dropLast()), in: 1...99)) / 100)
}

private func clickHouseQuorum(_ text: String) throws -> Quorum {
    guard let quorum = Quorum(text) else {
        throw CommandFailure("'\(text)' is not a quorum: use majority, or a number of replicas from 1 to 9")
    }
    return quorum
}

private func survivesPowerLoss(_ text: String) throws -> Bool {
    guard ["normal", "full"].contains(text) else {
        throw CommandFailure("'\(text)' is not a sync mode: use full or normal")
    }
    return text == "full"
}
