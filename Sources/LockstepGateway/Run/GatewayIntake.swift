import LockstepAgent
import LockstepModel
import LockstepWire

/// Translates foreign messages and collects their samples until the next commit.
struct GatewayIntake {
    /// The samples of one device since the last commit.
    private struct DeviceSamples {
        var live: Coalescer
        var late: Coalescer
    }

    /// The parts of the configuration that the intake uses.
    private let configuration: GatewayConfiguration
    private let filters: [(filter: TopicFilter, adapter: any GatewayAdapter)]
    private let fitter: SampleFitter
    private var samples: [Int: DeviceSamples] = [:]
    /// The parts of accelerations that wait for others, now and at the last commit. They are in memory only.
    private var pairs: [Int: AccelerationPairs] = [:]
    private var committedPairs: [Int: AccelerationPairs] = [:]
    private var sequences = MessageSequences()
    /// The messages without times of their own, now and at the last commit.
    private var fixes = RepeatedFixes()
    private var committedFixes = RepeatedFixes()
    private var friends = FriendTable()
    private var clocks: SenderClocks
    /// The last sample in the future that was accepted because the gateway's clock may be wrong, until it is logged.
    private var clockDoubt: ClockDoubt?
    /// The lost and repeated messages since the last call of ``takeFindings()``.
    private var findings: [(device: DeviceAddress, finding: MessageSequences.Finding)] = []
    /// The devices from which messages arrived since the last commit.
    private var contacts: [Int: SenderContact] = [:]
    /// The number of samples since the last commit.
    private(set) var sampleCount = 0
    /// The largest packet that the broker accepts, in bytes; nil if unknown.
    var packetLimit: Int?

    init(_ configuration: GatewayConfiguration) {
        self.configuration = configuration
        filters = configuration.adapters.flatMap { adapter in
            adapter.topicFilters.map { (TopicFilter($0), adapter) }
        }
        fitter = SampleFitter(catalog: configuration.root.streams, maxFuture: configuration.maxFuture)
        clocks = SenderClocks(maxFuture: configuration.maxFuture)
    }

    /// Returns the adapter of a message, or nil if no format has its topic or path.
    func adapter(of message: ForeignMessage) -> (any GatewayAdapter)? {
        switch message.origin {
        case .topic(let topic): filters.first { $0.filter.matches(topic) }?.adapter
        case .request(let facts): configuration.adapters.first { $0.path == facts.path }
        }
    }

    /// Translates a message and adds its samples.
    /// - Returns: the parts of the message that were left out, and the receipt for its sender.
    /// - Throws: ``Refusal`` if nothing of the message can be used.
    mutating func ingest(
        _ message: ForeignMessage, outbox: GatewayOutbox
    ) throws(Refusal) -> (omissions: [String], receipt: RequestReceipt) {
        guard let adapter = adapter(of: message) else {
            throw Refusal(.malformed, "no format has this topic or path")
        }
        let limit = configuration.maxPayload * adapter.payloadFactor
        guard message.payload.count <= limit else {
            throw Refusal(.malformed, "the message has \(message.payload.count) bytes, more than \(limit)")
        }
        var message = message
        message.contentLimit = configuration.maxPayload
        var translated = TranslatedMessage(
            .success(try adapter.translate(message)), from: adapter.name, isRetained: message.isRetained,
            receivedAt: message.receivedAt)
        // The access rules of a broker let each user write below the topic level that names the sender.
        translated.user =
            message.request.map(\.user)
            ?? (try? translated.translation.get().reports.first)?.sender.parts.first
        return try ingest(translated, wantsFriends: message.request != nil, outbox: outbox)
    }

    /// Adds the samples of a message that is already translated.
    /// - Parameter wantsFriends: whether the receipt needs the messages of friends.
    /// - Throws: ``Refusal`` if nothing of the message can be used.
    mutating func ingest(
        _ message: TranslatedMessage, wantsFriends: Bool = false, outbox: GatewayOutbox
    ) throws(Refusal) -> (omissions: [String], receipt: RequestReceipt) {
        let translation = try message.translation.get()
        var omissions: [String] = []
        var receipt = RequestReceipt()
        var refusal: Refusal?
        var isAnyAccepted = false
        for report in translation.reports {
            receipt.number = receipt.number ?? report.sequence?.number
            guard
                !report.readings.isEmpty || report.presence != nil || report.shared != nil
                    || !report.accelerationParts.isEmpty
            else {
                omissions += report.omissions
                continue
            }
            do {
                omissions += report.omissions + (try add(report, of: message, outbox: outbox))
                isAnyAccepted = true
            } catch {
                refusal = error
                omissions.append(error.description)
                continue
            }
            guard configuration.sharesFriends, report.sender.format == OwnTracksAdapter.formatName,
                let address = try? configuration.mapping.address(of: report.sender, claimed: report.claimed)
            else { continue }
            if let shared = report.shared { friends.note(shared, of: address) }
            if wantsFriends { receipt.friends = friends.messages(for: address) }
        }
        // A message of which a part is stored is accepted, so that its sender does not send it again.
        if let refusal, !isAnyAccepted { throw refusal }
        return (omissions, receipt)
    }

    private mutating func add(
        _ report: ForeignReport, of message: TranslatedMessage, outbox: GatewayOutbox
    ) throws(Refusal) -> [String] {
        let address = try configuration.mapping.address(of: report.sender, claimed: report.claimed)
        let known = outbox.devices.index(of: address)
        if let known, outbox.senders[known].name != report.sender.description,
            !configuration.mapping.isExplicit(report.sender)
        {
            throw Refusal(
                .nameTaken,
                "'\(report.sender)' and '\(outbox.senders[known].name)' would be the same device \(address): "
                    + "add one of them to the setting 'map'")
        }
        guard known != nil || outbox.devices.count < configuration.maxDevices else {
            throw Refusal(.tooManyDevices, "there are already \(outbox.devices.count) devices: raise --max-devices")
        }
        if known == nil, let user = message.user, !configuration.mapping.isExplicit(report.sender) {
            let count = outbox.senders.count(ofUser: user)
            guard count < configuration.maxUserDevices else {
                throw Refusal(
                    .tooManyDevices,
                    "the user '\(user.prefix(100))' already has \(count) devices: raise --max-user-devices")
            }
        }
        let translated = report
        var report = report
        let arrival = fixes.arrival(of: report, isRetained: message.isRetained, at: message.receivedAt)
        if let arrival { report.moveFromFix(to: arrival) }
        let latest = latestTime(of: report, from: address, known, at: message.receivedAt)
        // A time that the gateway has given shows nothing of the sender's clock.
        let written = message.isRetained || report.hasGatewayTime ? nil : report.writtenAt
        if let known, let written, written != message.receivedAt {
            clocks.note(written, of: known, at: message.receivedAt)
        }
        var omissions: [String] = []
        var fitted: [SampleFitter.Sample] = []
        var lastRefusal: Refusal?
        for reading in report.readings {
            do {
                guard let sample = try fitter.sample(reading, at: latest) else { continue }
                fitted.append(sample)
                omissions += sample.omissions
            } catch {
                lastRefusal = error
                omissions.append(error.description)
            }
        }
        if fitted.isEmpty, let lastRefusal {
            // A sender whose samples are all refused is not silent. Its state is refused with them.
            if let known, !message.isRetained {
                contacts[known] = SenderContact(
                    format: report.sender.format, presence: contacts[known]?.presence)
            }
            throw lastRefusal
        }
        let device = outbox.index(of: address, sender: report.sender)
        fixes.note(translated, movedTo: arrival, at: message.receivedAt)
        if known == nil, let written, written != message.receivedAt {
            clocks.note(written, of: device, at: message.receivedAt)
        }
        // An old message that is sent again must not bring back an old state.
        let isNewest = report.sequence.map { sequences.isNewest($0, of: report.sender) } ?? true
        if let number = report.sequence, let finding = sequences.note(number, of: report.sender) {
            findings.append((address, finding))
        }
        // A message that the broker kept may be from a sender that is gone.
        if !message.isRetained || report.presence != nil {
            let earlier = contacts[device]?.presence
            contacts[device] = SenderContact(
                format: report.sender.format, presence: isNewest ? report.presence ?? earlier : earlier)
        }
        var parts: [AccelerationPart] = []
        for part in report.accelerationParts {
            do {
                try fitter.checkTime(part.time, of: .accelerometer, at: latest)
                parts.append(part)
            } catch { omissions.append(error.description) }
        }
        if !parts.isEmpty {
            let now = message.receivedAt.microseconds
            fitted += samples(of: pairs[device, default: AccelerationPairs()].add(parts, at: now))
        }
        guard !fitted.isEmpty else { return omissions }
        let age = message.receivedAt - (report.writtenAt ?? message.receivedAt)
        let isLate = message.isRetained || report.isLate ?? (age > configuration.lateAfter)
        add(fitted, isLate: isLate, of: device)
        return omissions
    }

    /// Returns the samples of accelerations whose parts have plausible times.
    private func samples(of readings: [Reading]) -> [SampleFitter.Sample] {
        readings.compactMap { try? fitter.sample($0, at: Timestamp(microseconds: $0.time)) }
    }

    /// Returns the current time by which the times of a report are judged: that of the gateway, or if its clock may be wrong,
    /// the newest time of the report. The samples then wait in the outbox until a collector accepts them.
    private mutating func latestTime(
        of report: ForeignReport, from address: DeviceAddress, _ device: Int?, at now: Timestamp
    ) -> Timestamp {
        let times = report.readings.map(\.time) + report.accelerationParts.map(\.time)
        guard let newest = times.filter(TimeUnit.plausibleTimes.contains).max().map(Timestamp.init(microseconds:)),
            newest - now > configuration.maxFuture,
            clocks.areInDoubt(by: report.writtenAt ?? newest, of: device, at: now)
        else { return now }
        clockDoubt = ClockDoubt(device: address, sample: newest, now: now)
        return newest
    }

    /// Ends the wait of the parts of accelerations that have waited long enough, and adds the complete ones.
    /// - Parameter isAll: whether no part waits any longer.
    /// - Returns: the number of accelerations of each device for which no gravity has arrived.
    mutating func expireParts(at now: Timestamp, isAll: Bool = false) -> [(device: Int, unpaired: Int)] {
        var result: [(device: Int, unpaired: Int)] = []
        for device in pairs.keys.sorted() {
            guard let (readings, unpaired) = pairs[device]?.expire(at: isAll ? nil : now.microseconds) else { continue }
            let fitted = samples(of: readings)
            if !fitted.isEmpty { add(fitted, isLate: false, of: device) }
            if unpaired > 0 { result.append((device, unpaired)) }
            if pairs[device]?.isEmpty == true { pairs[device] = nil }
        }
        return result
    }

    /// Records that the samples of this turn are in the outbox, or else that their messages will arrive again.
    mutating func didCommit(_ isCommitted: Bool) {
        if isCommitted {
            (committedPairs, committedFixes) = (pairs, fixes)
        } else {
            (pairs, fixes) = (committedPairs, committedFixes)
        }
    }

    private mutating func add(_ fitted: [SampleFitter.Sample], isLate: Bool, of device: Int) {
        sampleCount += fitted.count
        var entry = samples.removeValue(forKey: device) ?? makeSamples()
        for sample in fitted {
            let block = SampleBlock(
                stream: sample.stream, times: [sample.time.microseconds], columns: sample.values.map { [$0] })
            if isLate { entry.late.add(block, at: 0) } else { entry.live.add(block, at: 0) }
        }
        samples[device] = entry
    }

    private func makeSamples() -> DeviceSamples {
        var coalescer = Coalescer(limits: configuration.batches)
        coalescer.packetLimit = packetLimit
        return DeviceSamples(live: coalescer, late: coalescer)
    }

    /// Removes and returns the samples for the next commit, the lowest device first.
    mutating func takeAdditions() -> [Outbox.Addition] {
        defer {
            samples.removeAll(keepingCapacity: true)
            sampleCount = 0
        }
        return samples.keys.sorted().flatMap { device -> [Outbox.Addition] in
            guard var entry = samples[device] else { return [] }
            return entry.late.takeAll().map { Outbox.Addition(device: device, samples: $0, isLate: true) }
                + entry.live.takeAll().map { Outbox.Addition(device: device, samples: $0, isLate: false) }
        }
    }

    /// A sample in the future by the clock of the gateway.
    struct ClockDoubt: Equatable {
        let device: DeviceAddress
        let sample: Timestamp
        let now: Timestamp
    }

    /// Removes and returns the last sample in the future that was accepted.
    mutating func takeClockDoubt() -> ClockDoubt? {
        defer { clockDoubt = nil }
        return clockDoubt
    }

    /// Removes and returns the lost and repeated messages.
    mutating func takeFindings() -> [(device: DeviceAddress, finding: MessageSequences.Finding)] {
        defer { findings.removeAll() }
        return findings
    }

    /// Removes and returns the devices from which messages arrived since the last commit.
    mutating func takeContacts() -> [Int: SenderContact] {
        defer { contacts.removeAll(keepingCapacity: true) }
        return contacts
    }
}
