package import FoundationEssentials
package import LockstepMQTT
package import LockstepModel
package import LockstepWire

/// Lets the collectors forget a device, and makes sure that nothing of it is retained at the broker.
///
/// An empty message to the channel `forget`, which all programs ignore, is sent first: when it comes back, everything that
/// is retained has arrived.
///
/// Each collector answers for itself, so the removal waits for all that run and collect the group: one that knows the
/// device decides, whoever answers first.
package struct DeviceRemoval: ForgetTask {
    private enum Step {
        /// Waiting for the empty message.
        case reading
        /// Waiting for the collectors.
        case asking
        /// Waiting until nothing is retained.
        case clearing(ForgetAnswer.Outcome?)
    }

    /// The time to wait for the collectors, in µs. A commit on a slow disk takes a while.
    package static let patience: Int64 = 10_000_000
    /// The time that collectors have to delete messages before this program does it, in µs.
    package static let clearingTime: Int64 = 1_000_000

    private let device: DeviceAddress
    private let root: TopicRoot
    private let id: String
    private var step = Step.reading
    private var hasAsked = false
    private var hasCleared = false
    private var isEchoed = false
    /// The topics of the device with retained messages.
    private var retained: Set<String> = []
    /// Whether anything was retained at the start.
    private var hadRetained = false
    private var collectors: [String: CollectorHealth] = [:]
    private var answers: [ForgetAnswer] = []
    /// The collectors that had not answered when the device was forgotten by others.
    private var silent: [String] = []
    private var deadline: Int64 = 0

    /// Creates the removal of a device.
    package init(_ device: DeviceAddress, root: TopicRoot, id: String = "\(Epoch.random())") {
        self.device = device
        self.root = root
        self.id = id
    }

    private var forgetTopic: String { root.topic(device, .forget) }

    package var filters: [String] { ["\(root)/\(device)/#", root.collectorFilter] }

    package mutating func didSubscribe(at now: Moment) {
        step = .reading
        (hasAsked, hasCleared, isEchoed) = (false, false, false)
        deadline = now.boot + Self.patience
    }

    package mutating func handle(topic: String, payload: Data, isRetained: Bool) {
        switch try? root.parse(topic) {
        case .collector(let group, let id):
            collectors["\(group)/\(id)"] = payload.isEmpty ? nil : try? CollectorHealth.decode(payload)
        case .device(device, .forget) where payload.isEmpty: isEchoed = true
        case .device(device, .forgotten):
            if let answer = try? ForgetJSON.decodeAnswer(payload), answer.id == id { answers.append(answer) }
        default:
            guard topic.hasPrefix("\(root)/\(device)/") else { return }
            if payload.isEmpty {
                retained.remove(topic)
            } else if isRetained {
                retained.insert(topic)
            } else if case .clearing = step {
                // The device has returned: what it sends now must stay.
                retained.remove(topic)
            }
        }
    }

    package mutating func didRefuse(_ topic: String, _ reason: String) throws {
        guard topic == forgetTopic else {
            throw ExchangeError("\(reason). \(Self.advice(for: [topic]))")
        }
        throw ExchangeError("\(reason): \(ExchangeError.advice(toWrite: topic))")
    }

    package mutating func takeMessages(at now: Moment) throws -> [MQTTMessage] {
        switch step {
        case .reading: return try read(at: now)
        case .asking: return try ask(at: now)
        case .clearing(let outcome): return try clear(outcome, at: now)
        }
    }

    package func result() -> String? {
        guard case .clearing(let outcome) = step, retained.isEmpty else { return nil }
        let name = device.group == .standard ? "\(device.device)" : "\(device)"
        guard let outcome else {
            return "\(device) is forgotten: its retained messages are deleted. There is no collector "
                + (collectors.isEmpty ? "at this broker." : "of its group at this broker.")
        }
        return outcome == .unknown
            ? "\(device) is forgotten: its retained messages are deleted. No collector has stored it."
            : "\(device) is forgotten. Its samples stay in the store: lockstep query STREAM --device \(name)\n"
                + "It is listed again if it sends again."
                + (silent.isEmpty
                    ? "" : "\nNo answer from \(Self.names(silent)): it may still list the device until it answers.")
    }

    private mutating func read(at now: Moment) throws -> [MQTTMessage] {
        guard isEchoed else {
            if now.boot >= deadline {
                throw ExchangeError(
                    "the broker has not accepted the request: \(ExchangeError.advice(toWrite: forgetTopic))")
            }
            defer { hasAsked = true }
            return hasAsked ? [] : [MQTTMessage(topic: forgetTopic, payload: [], qos: .atLeastOnce)]
        }
        hadRetained = !retained.isEmpty
        let collectors = collectors.filter { $0.value.collects(device.group) }
        if collectors.values.contains(where: { $0.isRunning(at: now.wall) }) {
            step = .asking
            deadline = now.boot + Self.patience
            return [request(ForgetRequest(id: id))]
        }
        if let (name, health) = collectors.min(by: { $0.key < $1.key }) {
            throw ExchangeError(
                "no collector is online, and \(device) would be back when one starts: start it. If it is retired, use "
                    + "'lockstep forget --collector \(name)' first (\(name) is offline since \(health.at))")
        }
        guard hadRetained else { throw unknown }
        beginClearing(nil, at: now)
        return []
    }

    private mutating func ask(at now: Moment) throws -> [MQTTMessage] {
        try checkOnline()
        let silent = collectors.filter { name, health in
            health.isRunning(at: now.wall) && health.collects(device.group)
                && !answers.contains { name.hasSuffix("/\($0.collector)") }
        }.keys.sorted()
        guard silent.isEmpty || now.boot >= deadline else { return [] }
        if answers.contains(where: { $0.outcome == .forgotten }) {
            self.silent = silent
            beginClearing(.forgotten, at: now)
            return []
        }
        // A collector that does not answer may know the device.
        guard silent.isEmpty else {
            throw ExchangeError(
                "no answer from \(Self.names(silent)): check with 'lockstep doctor' that \(silent.count == 1 ? "it" : "each") "
                    + "is online, can write its store, and has the version of this program, and repeat the command. If "
                    + "one is retired, stop it, and use 'lockstep forget --collector \(silent[0])' first")
        }
        guard answers.contains(where: { $0.outcome == .unknown }) else {
            throw ExchangeError(
                "no running collector collects \(device): check with 'lockstep doctor' that one for each partition of "
                    + "the group '\(device.group)' is online")
        }
        guard hadRetained else { throw unknown }
        beginClearing(.unknown, at: now)
        return [request(ForgetRequest(id: id, deletesUnknown: true))]
    }

    private func request(_ request: ForgetRequest) -> MQTTMessage {
        MQTTMessage(topic: forgetTopic, payload: ForgetJSON.encode(request), qos: .atLeastOnce)
    }

    private func checkOnline() throws {
        guard let online = answers.first(where: { $0.outcome == .online }) else { return }
        throw ExchangeError(
            "\(device) is online\(online.state.map { " (\($0.rawValue))" } ?? ""), and would be back at once: stop "
                + "its agent first. A device that was switched off counts as offline after 75 s without messages")
    }

    private mutating func beginClearing(_ outcome: ForgetAnswer.Outcome?, at now: Moment) {
        step = .clearing(outcome)
        deadline = now.boot + (outcome == nil ? 0 : Self.clearingTime)
    }

    private mutating func clear(_ outcome: ForgetAnswer.Outcome?, at now: Moment) throws -> [MQTTMessage] {
        try checkOnline()
        guard !retained.isEmpty, now.boot >= deadline else { return [] }
        guard !hasCleared else { throw ExchangeError(Self.advice(for: retained.sorted())) }
        hasCleared = true
        deadline = now.boot + Self.patience
        return retained.sorted().map { MQTTMessage(topic: $0, payload: [], qos: .atLeastOnce, isRetained: true) }
    }

    private static func names(_ collectors: [String]) -> String {
        (collectors.count == 1 ? "collector " : "collectors ") + collectors.joined(separator: ", ")
    }

    private var unknown: ExchangeError {
        ExchangeError(
            "no device '\(device)' is known: list devices with 'lockstep devices' or 'lockstep watch', and name the "
                + "group, as in GROUP/\(device.device)")
    }

    private static func advice(for topics: [String]) -> String {
        "this user may not delete retained messages of the device; use a user who may write these topics: "
            + topics.map { "mosquitto_pub -r -n -t '\($0)'" }.joined(separator: ", ")
    }
}

extension CollectorHealth {
    /// Returns whether the collector may have devices of a group.
    fileprivate func collects(_ group: GroupID) -> Bool { groups?.contains(group.rawValue) ?? true }

    /// Returns whether the collector runs. One that was killed together with the broker leaves an old report.
    fileprivate func isRunning(at now: Timestamp) -> Bool {
        status != .offline && ReportAge.isRecent(at, at: now)
    }
}

/// The age of a program's report above which the program no longer runs, whatever it says.
package enum ReportAge {
    /// The age in µs. Collectors and gateways report every 10 s.
    private static let maximum: Int64 = 120_000_000

    /// Returns whether a report was sent by a program that runs.
    package static func isRecent(_ time: Timestamp, at now: Timestamp) -> Bool { now - time <= maximum }
}
