import LockstepModel

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
    var abandoned: [ForeignReport] = []
    /// The nodes that are known to have no metric with a column, themselves and in their devices.
    private(set) var unmapped: Set<SparkplugNode> = []
    /// Those of them that were not reported yet.
    private var newlyUnmapped: Set<SparkplugNode> = []
    /// The nodes whose messages wait for those before them.
    var disordered: Set<SparkplugNode> = []
    /// The nodes that have, or whose devices have, samples that wait for other values of their time.
    var waiting: Set<SparkplugNode> = []
    /// What is to be returned to the caller.
    var outputs: [Output] = []
    /// The maximum time that a value may be in the future, in µs.
    private let maxFuture: Int64

    /// The bounds of the memory that senders can fill.
    struct Limits {
        var nodes = 10_000
        /// The maximum number of metrics and devices of all nodes together.
        var metrics = 1_000_000
    }

    init(_ targets: SparkplugTargets, limits: Limits = Limits(), maxFuture: Int64 = SampleFitter().maxFuture) {
        self.targets = targets
        self.maxFuture = maxFuture
        self.limits = limits
    }

    /// Whether something waits, so that ``release(at:all:)`` may return something later.
    var isWaiting: Bool { !disordered.isEmpty || !waiting.isEmpty }
    var count: Int { nodes.count }
    var deviceCount: Int { nodes.values.reduce(0) { $0 + $1.devices.count } }

    /// What a message, or a sample that has waited, adds.
    struct Output {
        /// The topic of the message, or the name of the format.
        let source: String
        /// The content, or the reason why nothing of a message can be used.
        var result: Result<Translation, Refusal> = .success(Translation())
        var finding: Finding?
        /// The time of arrival of the message or the end of waiting.
        let receivedAt: Timestamp
    }

    struct Message {
        let topic: SparkplugTopic
        let payload: SparkplugPayload
        let receivedAt: Timestamp
    }

    /// Handles a message.
    /// - Returns: what it adds, and what was waiting for it. It may wait for others itself, see ``release(at:)``.
    mutating func handle(_ topic: SparkplugTopic, _ bytes: [UInt8], at moment: Moment) -> [Output] {
        let payload: SparkplugPayload
        do { payload = try SparkplugPayload(decoding: bytes) } catch {
            return [
                Output(
                    source: topic.description, result: .failure(Refusal(.malformed, error.description)),
                    receivedAt: moment.wall)
            ]
        }
        let message = Message(topic: topic, payload: payload, receivedAt: moment.wall)
        switch topic.type {
        case .nodeBirth: didReceiveNodeBirth(message, at: moment)
        case .nodeDeath:
            run(message, at: moment) { nodes, output throws(Refusal) in
                try nodes.didReceiveNodeDeath(message, &output, at: moment)
            }
        case .nodeCommand, .deviceCommand: break
        case .deviceBirth, .deviceDeath, .nodeData, .deviceData: arrange(message, at: moment)
        }
        return takeOutputs()
    }

    /// Returns what has waited long enough: messages for those before them, and samples for other values of their time.
    /// - Parameter all: whether nothing waits any longer.
    mutating func release(at moment: Moment, all: Bool = false) -> [Output] {
        for name in disordered.sorted() {
            guard var node = nodes[name] else { continue }
            let result = node.order.expire(at: all ? .max : moment.boot)
            nodes[name] = node
            didArrange(result, of: name, at: moment)
        }
        for name in waiting.sorted() { releaseSamples(of: name, at: moment, all: all) }
        return takeOutputs()
    }

    private mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    // MARK: - Order

    /// Handles a message when those before it have arrived. Without a birth of its node, numbers have no meaning.
    private mutating func arrange(_ message: Message, at moment: Moment) {
        let name = message.topic.node
        guard let number = message.payload.number, var node = nodes[name], node.hasBirth else {
            return handle(message, at: moment)
        }
        let result = node.order.add(message, number: number, at: moment.boot)
        nodes[name] = node
        didArrange(result, of: name, at: moment)
    }

    private mutating func didArrange(
        _ result: SparkplugOrder<Message>.Result, of name: SparkplugNode, at moment: Moment
    ) {
        if var node = nodes[name] {
            if node.order.isWaiting { disordered.insert(name) } else { disordered.remove(name) }
            if result.missing > 0 || result.isLost {
                node.needsBirth = true
                save(node, name)
            }
        }
        var finding = result.missing > 0 ? Finding.missing(result.missing) : nil
        for message in result.messages {
            handle(message, finding: finding, at: moment)
            finding = nil
        }
    }

    private mutating func handle(_ message: Message, finding: Finding? = nil, at moment: Moment) {
        run(message, finding: finding, at: moment) { nodes, output throws(Refusal) in
            switch message.topic.type {
            case .deviceBirth: try nodes.didReceiveDeviceBirth(message, &output, at: moment)
            case .deviceDeath: try nodes.didReceiveDeviceDeath(message, &output, at: moment)
            default: try nodes.didReceiveData(message, &output, at: moment)
            }
        }
    }

    /// Adds the output of a message.
    private mutating func run(
        _ message: Message, finding: Finding? = nil, at moment: Moment,
        _ body: (inout SparkplugNodes, inout Output) throws(Refusal) -> Void
    ) {
        var output = Output(
            source: message.topic.description, finding: finding, receivedAt: message.receivedAt)
        do { try body(&self, &output) } catch { output.result = .failure(error) }
        outputs.append(output)
    }

    // MARK: - Births

    private mutating func didReceiveNodeBirth(_ message: Message, at moment: Moment) {
        let name = message.topic.node
        // Messages that wait for others belong to the earlier birth, unless they were written after this one.
        var later: [Message] = []
        if var node = nodes[name] {
            let messages = node.order.takeAll()
            nodes[name] = node
            for waiting in messages {
                if let birth = message.payload.time, let time = waiting.payload.time, time >= birth {
                    later.append(waiting)
                } else {
                    handle(waiting, at: moment)
                }
            }
        }
        disordered.remove(name)
        releaseSamples(of: name, at: moment, all: true)
        run(message, at: moment) { nodes, output throws(Refusal) in
            guard let deathNumber = message.payload.deathNumber else {
                throw Refusal(.malformed, "the birth message has no metric 'bdSeq'")
            }
            var node = try nodes.take(name)
            defer { nodes.save(node, name) }
            var own = SparkplugSource(message.payload.metrics, targets: nodes.targets, earlier: node.own)
            try nodes.reserve(own.count, replacing: node.own.count)
            let content = own.read(
                message.payload, isBirth: true, at: moment, maxFuture: nodes.maxFuture)
            node.own = own
            node.deathNumber = deathNumber
            node.hasBirth = true
            node.needsBirth = false
            node.requests = 0
            node.order.begin(message.payload.number)
            // All devices of the node have to be born again.
            for device in node.devices.keys { node.devices[device]?.hasBirth = false }
            // A node whose own metrics are not wanted is no device of its own.
            let isWanted = own.mappedCount > 0
            node.deviceDeadline =
                isWanted && node.devices.isEmpty ? nil : moment.boot + Self.deviceBirthLimit
            if isWanted {
                node.isPresent = true
                nodes.unmapped.remove(name)
            }
            output.result = .success(
                Translation(
                    nodes.reports(
                        message, &node.own, content,
                        presence: isWanted ? ForeignPresence(.foreground, reason: "nbirth") : nil, at: moment)))
        }
        for message in later { arrange(message, at: moment) }
    }

    private mutating func didReceiveDeviceBirth(
        _ message: Message, _ output: inout Output, at moment: Moment
    ) throws(Refusal) {
        try withNode(of: message, &output, at: moment) { nodes, node, device throws(Refusal) in
            var source = SparkplugSource(
                message.payload.metrics, targets: nodes.targets, earlier: node.devices[device]?.source)
            try nodes.reserve(source.count + 1, replacing: node.devices[device]?.size ?? 0)
            if source.mappedCount > 0 { nodes.unmapped.remove(message.topic.node) }
            let content = source.read(message.payload, isBirth: true, at: moment, maxFuture: nodes.maxFuture)
            let presence = ForeignPresence(.foreground, reason: "dbirth")
            let reports = nodes.reports(message, &source, content, presence: presence, at: moment)
            node.set(Device(source: source, hasBirth: true), device)
            return reports
        }
    }

    /// Changes the node of a device that is born or dies. A node without a birth message of its own is asked for one.
    /// - Parameter change: returns the reports.
    private mutating func withNode(
        of message: Message, _ output: inout Output, at moment: Moment,
        change: (inout SparkplugNodes, inout Node, String) throws(Refusal) -> [ForeignReport]
    ) throws(Refusal) {
        guard let device = message.topic.device else { return }
        let name = message.topic.node
        releaseSamples(of: name, at: moment, all: true)
        var node = try take(name)
        defer { save(node, name) }
        if !node.hasBirth {
            node.needsBirth = true
            output.finding = .unknown
        }
        output.result = .success(Translation(try change(&self, &node, device)))
    }

    // MARK: - Data

    private mutating func didReceiveData(
        _ message: Message, _ output: inout Output, at moment: Moment
    ) throws(Refusal) {
        let name = message.topic.node
        var node = try take(name)
        defer { save(node, name) }
        if !node.hasBirth {
            node.needsBirth = true
            output.finding = output.finding ?? .unknown
        }
        let content: SparkplugSource.Content
        var reports: [ForeignReport] = []
        if let device = message.topic.device {
            // After a birth of the node, the aliases of an earlier birth of the device have no meaning.
            if var known = node.devices[device], known.hasBirth {
                node.devices[device] = nil
                content = known.source.read(message.payload, at: moment, maxFuture: maxFuture)
                reports = self.reports(message, &known.source, content, presence: nil, at: moment)
                node.set(known, device)
            } else {
                content = SparkplugSource.Content(
                    omissions: ["the device has sent no birth message since that of its node"], needsBirth: true)
            }
        } else {
            content = node.own.read(message.payload, at: moment, maxFuture: maxFuture)
            reports = self.reports(message, &node.own, content, presence: nil, at: moment)
        }
        if content.needsBirth {
            node.needsBirth = true
            output.finding = output.finding ?? .unknown
        }
        if !content.hasValues, let first = content.omissions.first {
            throw Refusal(
                content.needsBirth ? .unknownSender : .malformed,
                content.needsBirth ? "\(first): its values are lost, and new birth messages are requested" : first)
        }
        output.result = .success(Translation(reports))
    }

    // MARK: - Deaths

    private mutating func didReceiveNodeDeath(
        _ message: Message, _ output: inout Output, at moment: Moment
    ) throws(Refusal) {
        guard let number = message.payload.deathNumber else {
            throw Refusal(.malformed, "the death message has no metric 'bdSeq'")
        }
        let name = message.topic.node
        // The broker may publish the will of an earlier connection after the birth of a new one. The number of a node that
        // was present before a restart is unknown until its next birth.
        guard var node = nodes[name], node.deathNumber == nil || node.deathNumber == number else { return }
        let messages = node.order.takeAll()
        nodes[name] = node
        for waiting in messages { handle(waiting, at: moment) }
        releaseSamples(of: name, at: moment, all: true)
        guard let node = nodes[name] else { return }
        forget(name)
        output.result = .success(Translation(lost(node, name, reason: "ndeath")))
    }

    private mutating func didReceiveDeviceDeath(
        _ message: Message, _ output: inout Output, at moment: Moment
    ) throws(Refusal) {
        try withNode(of: message, &output, at: moment) { nodes, node, device in
            node.waiting.remove(device)
            if let known = node.devices.removeValue(forKey: device) { nodes.metricCount -= known.size }
            return [nodes.lost(Self.sender(message.topic), reason: "ddeath")]
        }
    }

    func lost(_ sender: ForeignName, reason: String) -> ForeignReport {
        ForeignReport(sender: sender, presence: ForeignPresence(.lost, reason: reason))
    }

    /// Returns the reports of all devices of a node, and of itself.
    func lost(_ node: Node, _ name: SparkplugNode, reason: String) -> [ForeignReport] {
        var reports = node.devices.keys.sorted().map { device in lost(Self.sender(name, device), reason: reason) }
        if node.isPresent { reports.append(lost(Self.sender(name), reason: reason)) }
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
        if node.isWaiting { waiting.insert(name) } else { waiting.remove(name) }
    }

    /// Notes whether nothing of a node is stored, when its devices had time to be born.
    mutating func noteColumns(of node: Node, _ name: SparkplugNode) {
        guard node.own.mappedCount == 0, node.devices.values.allSatisfy({ $0.source.mappedCount == 0 }) else {
            unmapped.remove(name)
            return
        }
        if unmapped.insert(name).inserted { newlyUnmapped.insert(name) }
    }

    /// Returns the nodes without columns that were not returned before.
    mutating func takeUnmapped() -> [SparkplugNode] {
        defer { newlyUnmapped = [] }
        return newlyUnmapped.sorted()
    }

    mutating func forget(_ name: SparkplugNode) {
        unmapped.remove(name)
        watched.remove(name)
        disordered.remove(name)
        waiting.remove(name)
        if let node = nodes.removeValue(forKey: name) { metricCount -= node.metricCount }
    }

    mutating func reserve(_ count: Int, replacing old: Int) throws(Refusal) {
        guard metricCount - old + count <= limits.metrics else {
            throw Refusal(.malformed, "there are already \(metricCount) metrics of Sparkplug")
        }
        metricCount += count - old
    }

    // MARK: - Reports

    private static func sender(_ topic: SparkplugTopic) -> ForeignName { sender(topic.node, topic.device) }

    private static func sender(_ node: SparkplugNode, _ device: String? = nil) -> ForeignName {
        ForeignName(formatName, [node.group, node.node] + [device].compactMap { $0 })
    }

    /// Adds the samples of a node and its devices that wait no longer.
    private mutating func releaseSamples(of name: SparkplugNode, at moment: Moment, all: Bool) {
        guard waiting.contains(name), var node = nodes.removeValue(forKey: name) else { return }
        defer { save(node, name) }
        var reports = Self.reports(node.own.release(at: moment.boot, all: all), of: Self.sender(name))
        for device in node.waiting.sorted() {
            guard var known = node.devices.removeValue(forKey: device) else { continue }
            let rows = known.source.release(at: moment.boot, all: all)
            node.set(known, device)
            reports += Self.reports(rows, of: Self.sender(name, device))
        }
        guard !reports.isEmpty else { return }
        outputs.append(
            Output(source: Self.formatName, result: .success(Translation(reports)), receivedAt: moment.wall))
    }

    /// Returns the reports of a message: the samples that need not wait, the presence and what was left out.
    private func reports(
        _ message: Message, _ source: inout SparkplugSource, _ content: SparkplugSource.Content,
        presence: ForeignPresence?, at moment: Moment
    ) -> [ForeignReport] {
        let sender = Self.sender(message.topic)
        var reports = Self.reports(source.release(at: moment.boot), of: sender)
        guard presence != nil || !content.omissions.isEmpty else { return reports }
        if reports.last?.isLate != nil || reports.isEmpty { reports.append(ForeignReport(sender: sender)) }
        reports[reports.count - 1].presence = presence
        reports[reports.count - 1].omissions = content.omissions
        return reports
    }

    /// Returns the reports of samples: one of the historical ones, and one for each message of the others.
    private static func reports(_ rows: [SparkplugTimeline.Row], of sender: ForeignName) -> [ForeignReport] {
        var reports: [ForeignReport] = []
        let historical = rows.filter(\.isHistorical).map(\.reading)
        if !historical.isEmpty {
            var report = ForeignReport(sender: sender, readings: historical)
            report.isLate = true
            reports.append(report)
        }
        var current: [Int64?: Int] = [:]
        for row in rows where !row.isHistorical {
            let index = current[row.writtenAt] ?? reports.count
            if index == reports.count {
                current[row.writtenAt] = index
                reports.append(
                    ForeignReport(sender: sender, writtenAt: row.writtenAt.map { Timestamp(microseconds: $0) }))
            }
            reports[index].readings.append(row.reading)
        }
        return reports
    }
}
