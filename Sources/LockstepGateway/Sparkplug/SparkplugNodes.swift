import LockstepModel
import LockstepSparkplug

/// The nodes and devices of Sparkplug that a host application knows. It receives messages and returns their samples,
/// without I/O.
struct SparkplugNodes {
    /// The name of the format, which begins the foreign names.
    static let formatName = "sparkplug"
    /// A node reports only changes, and the broker tells of its death. Those that were present before a restart are asked
    /// for new births; the limit is for the others, whose devices share their address with a sender of another name.
    static let silence = SilenceLimits(sinceStart: 300_000_000)
    /// The minimum interval between two requests for the birth messages of a node, in µs.
    static let rebirthInterval: Int64 = 10_000_000
    /// The maximum number of requests that a node leaves without an answer.
    static let maxRequests = 10
    /// The time after the birth of a node within which its devices must be born again, in µs.
    static let deviceBirthLimit: Int64 = 10_000_000

    let targets: SparkplugTargets
    private let limits: Limits
    var nodes: [SparkplugNode: Node] = [:]
    var metricCount = 0
    /// The nodes that need new birth messages, or whose devices have a deadline.
    var watched: Set<SparkplugNode> = []
    /// The reports of nodes that were given up.
    var abandoned: [ForeignReport] = []

    /// The bounds of the memory that senders can fill.
    struct Limits {
        /// The maximum number of nodes.
        var nodes = 10_000
        /// The maximum number of metrics and devices of all nodes together.
        var metrics = 1_000_000
    }

    init(_ targets: SparkplugTargets, limits: Limits = Limits()) {
        self.targets = targets
        self.limits = limits
    }

    /// The number of nodes.
    var count: Int { nodes.count }
    /// The number of devices of all nodes.
    var deviceCount: Int { nodes.values.reduce(0) { $0 + $1.devices.count } }

    /// The result of a message.
    struct Outcome {
        var translation = Translation()
        var finding: Finding?
    }

    /// Handles a message.
    /// - Throws: ``Refusal`` if nothing of it can be used.
    mutating func handle(
        _ topic: SparkplugTopic, _ bytes: [UInt8], at moment: Moment
    ) throws(Refusal) -> Outcome {
        let payload: SparkplugPayload
        do { payload = try SparkplugPayload(decoding: bytes) } catch { throw Refusal(.malformed, error.description) }
        switch topic.type {
        case .nodeBirth: return try didReceiveNodeBirth(topic, payload, at: moment)
        case .nodeDeath: return try didReceiveNodeDeath(topic, payload)
        case .deviceBirth: return try didReceiveDeviceBirth(topic, payload, at: moment)
        case .nodeData, .deviceData: return try didReceiveData(topic, payload, at: moment)
        case .deviceDeath: return try didReceiveDeviceDeath(topic, payload)
        case .nodeCommand, .deviceCommand: return Outcome()
        }
    }

    // MARK: - Births

    private mutating func didReceiveNodeBirth(
        _ topic: SparkplugTopic, _ payload: SparkplugPayload, at moment: Moment
    ) throws(Refusal) -> Outcome {
        guard let deathNumber = payload.deathNumber else {
            throw Refusal(.malformed, "the birth message has no metric 'bdSeq'")
        }
        var node = try take(topic.node)
        defer { save(node, topic.node) }
        let own = SparkplugSource(payload.metrics, targets: targets)
        try reserve(own.count, replacing: node.own.count)
        node.own = own
        node.deathNumber = deathNumber
        node.hasBirth = true
        node.needsBirth = false
        node.requests = 0
        node.lastNumber = payload.number
        // All devices of the node have to be born again.
        for name in node.devices.keys { node.devices[name]?.hasBirth = false }
        node.deviceDeadline = node.devices.isEmpty ? nil : moment.boot + Self.deviceBirthLimit
        let content = node.own.read(payload.metrics, fallback: payload.time ?? moment.milliseconds)
        // A node whose own metrics are not wanted is no device of its own.
        let isWanted = own.mappedCount > 0
        if isWanted { node.isPresent = true }
        return Outcome(
            translation: translation(
                topic, payload, content,
                presence: isWanted ? ForeignPresence(.foreground, reason: "nbirth") : nil))
    }

    private mutating func didReceiveDeviceBirth(
        _ topic: SparkplugTopic, _ payload: SparkplugPayload, at moment: Moment
    ) throws(Refusal) -> Outcome {
        guard let name = topic.device else { return Outcome() }
        var node = try take(topic.node)
        defer { save(node, topic.node) }
        let finding = node.note(payload.number)
        var source = SparkplugSource(payload.metrics, targets: targets)
        try reserve(source.count + 1, replacing: node.devices[name]?.size ?? 0)
        let content = source.read(payload.metrics, fallback: payload.time ?? moment.milliseconds)
        node.devices[name] = Device(source: source, hasBirth: true)
        return Outcome(
            translation: translation(
                topic, payload, content, presence: ForeignPresence(.foreground, reason: "dbirth")),
            finding: finding)
    }

    // MARK: - Data

    private mutating func didReceiveData(
        _ topic: SparkplugTopic, _ payload: SparkplugPayload, at moment: Moment
    ) throws(Refusal) -> Outcome {
        var node = try take(topic.node)
        defer { save(node, topic.node) }
        var finding = node.note(payload.number)
        let fallback = payload.time ?? moment.milliseconds
        let content: SparkplugSource.Content
        if let name = topic.device {
            // After a birth of the node, the aliases of an earlier birth of the device have no meaning.
            if node.devices[name]?.hasBirth == true,
                let read = node.devices[name]?.source.read(payload.metrics, fallback: fallback)
            {
                content = read
            } else {
                content = SparkplugSource.Content(
                    omissions: ["the device has sent no birth message since that of its node"], needsBirth: true)
            }
        } else {
            content = node.own.read(payload.metrics, fallback: fallback)
        }
        if content.needsBirth {
            node.needsBirth = true
            finding = finding ?? .unknown
        }
        let isEmpty = content.current.isEmpty && content.historical.isEmpty
        if isEmpty, let first = content.omissions.first {
            throw Refusal(
                content.needsBirth ? .unknownSender : .malformed,
                content.needsBirth ? "\(first): its values are lost, and new birth messages are requested" : first)
        }
        return Outcome(translation: translation(topic, payload, content, presence: nil), finding: finding)
    }

    // MARK: - Deaths

    private mutating func didReceiveNodeDeath(
        _ topic: SparkplugTopic, _ payload: SparkplugPayload
    ) throws(Refusal) -> Outcome {
        guard let number = payload.deathNumber else {
            throw Refusal(.malformed, "the death message has no metric 'bdSeq'")
        }
        // The broker may publish the will of an earlier connection after the birth of a new one. The number of a node that
        // was present before a restart is unknown until its next birth.
        guard let node = nodes[topic.node], node.deathNumber == nil || node.deathNumber == number else {
            return Outcome()
        }
        forget(topic.node)
        return Outcome(translation: Translation(lost(node, topic.node, reason: "ndeath")))
    }

    private mutating func didReceiveDeviceDeath(
        _ topic: SparkplugTopic, _ payload: SparkplugPayload
    ) throws(Refusal) -> Outcome {
        guard let name = topic.device else { return Outcome() }
        var node = try take(topic.node)
        defer { save(node, topic.node) }
        let finding = node.note(payload.number)
        if let device = node.devices.removeValue(forKey: name) { metricCount -= device.size }
        return Outcome(translation: Translation([lost(Self.sender(topic), reason: "ddeath")]), finding: finding)
    }

    func lost(_ sender: ForeignName, reason: String) -> ForeignReport {
        ForeignReport(sender: sender, presence: ForeignPresence(.lost, reason: reason))
    }

    /// Returns the reports of all devices of a node, and of itself.
    func lost(_ node: Node, _ name: SparkplugNode, reason: String) -> [ForeignReport] {
        var reports = node.devices.keys.sorted().map { device in
            lost(ForeignName(Self.formatName, [name.group, name.node, device]), reason: reason)
        }
        if node.isPresent {
            reports.append(lost(ForeignName(Self.formatName, [name.group, name.node]), reason: reason))
        }
        return reports
    }

    // MARK: - State

    /// Removes and returns a node, so that it can be changed without a copy. The caller saves it again.
    mutating func take(_ name: SparkplugNode) throws(Refusal) -> Node {
        if let node = nodes.removeValue(forKey: name) { return node }
        guard nodes.count < limits.nodes else {
            throw Refusal(.unknownSender, "there are already \(nodes.count) nodes of Sparkplug")
        }
        return Node(own: SparkplugSource(targets: targets), needsBirth: true)
    }

    mutating func save(_ node: Node, _ name: SparkplugNode) {
        nodes[name] = node
        if node.needsBirth || node.deviceDeadline != nil { watched.insert(name) } else { watched.remove(name) }
    }

    mutating func forget(_ name: SparkplugNode) {
        watched.remove(name)
        if let node = nodes.removeValue(forKey: name) { metricCount -= node.metricCount }
    }

    mutating func reserve(_ count: Int, replacing old: Int) throws(Refusal) {
        guard metricCount - old + count <= limits.metrics else {
            throw Refusal(.malformed, "there are already \(metricCount) metrics of Sparkplug")
        }
        metricCount += count - old
    }

    // MARK: - Reports

    private static func sender(_ topic: SparkplugTopic) -> ForeignName {
        ForeignName(formatName, [topic.node.group, topic.node.node] + [topic.device].compactMap { $0 })
    }

    private func translation(
        _ topic: SparkplugTopic, _ payload: SparkplugPayload, _ content: SparkplugSource.Content,
        presence: ForeignPresence?
    ) -> Translation {
        let sender = Self.sender(topic)
        var reports: [ForeignReport] = []
        if !content.historical.isEmpty {
            var report = ForeignReport(sender: sender, readings: content.historical)
            report.isLate = true
            reports.append(report)
        }
        reports.append(
            ForeignReport(
                sender: sender,
                writtenAt: payload.time.flatMap(ForeignTime.microseconds(milliseconds:)).map {
                    Timestamp(microseconds: $0)
                }, readings: content.current, presence: presence, omissions: content.omissions))
        return Translation(reports)
    }
}

extension Moment {
    /// The wall-clock time in ms since 1970.
    fileprivate var milliseconds: Int64 { wall.microseconds / 1000 }
}
