import LockstepCommandLine
import LockstepModel
import LockstepWire

/// The output of `lockstep watch` in a pipe: one line per event, as text or as JSON.
struct WatchLines {
    let isJSON: Bool

    /// Returns the line of an event, with a newline at its end.
    func line(for event: WatchModel.Event, at now: Timestamp) -> String {
        switch event {
        case .state(let device, let transition):
            return line("state", .device(device), now, "\(arrow(transition)) (\(transition.reason))") { object in
                object.member("state", transition.to.rawValue)
                object.member("previous", ifPresent: transition.from?.rawValue)
                object.member("since", transition.since.microseconds)
                object.member("reason", transition.reason)
                object.member("seq", transition.seq)
            }
        case .presence(let device, let presence):
            let sources = presence.sources.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
            let text = ([presence.phase.rawValue + (presence.reason.map { " (\($0))" } ?? "")] + sources)
                .joined(separator: "; ")
            return line("presence", .device(device), now, text) { object in
                object.member("phase", presence.phase.rawValue)
                object.member("reason", ifPresent: presence.reason)
                object.member("dropped_samples", presence.droppedSamples)
                object.member("sources", presence.sources)
            }
        case .collector(let group, let id, let health):
            let problem = health.problem.map { ": \($0)" } ?? ""
            return line("collector", .collector(group, id), now, health.status.rawValue + problem) { object in
                object.member("status", health.status.rawValue)
                object.member("problem", ifPresent: health.problem)
            }
        case .batch(let device, let batch):
            let samples = batch.samples
            let from = Timestamp(microseconds: samples.times.first ?? 0)
            let text =
                "\(samples.stream): \(counted(samples.count, "sample")) from \(from.shown(decimals: 6))"
                + (batch.isLive ? "" : ", backlog")
            return line("batch", .device(device), now, text) { object in
                object.member("stream", samples.stream.name)
                object.member("batch") { $0.members(of: batch) }
            }
        case .unreadable(let topic, let reason):
            return line("unreadable", .topic(topic), now, reason) { $0.member("reason", reason) }
        }
    }

    /// Returns the line with the rates of a device, or nil if it has no rates and is not active.
    func rates(of address: DeviceAddress, _ device: WatchModel.Device, at moment: Moment) -> String? {
        var rates = device.streams.map { ($0.name, device.rate(of: $0, at: moment.boot)) }
        rates.append(("backlog", device.backlogRate(at: moment.boot)))
        rates.removeAll { $0.1 <= 0 }
        guard !rates.isEmpty || device.transition?.to == .active else { return nil }
        let text = rates.map { "\($0.0) \(WatchDisplay.rateText($0.1))/s" }.joined(separator: ", ")
        return line("rates", .device(address), moment.wall, text.isEmpty ? "no samples" : text) { object in
            object.raw(#","rates":{"# + rates.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}")
        }
    }

    private func arrow(_ transition: LifecycleTransition) -> String {
        (transition.from.map { "\($0.rawValue) → " } ?? "") + transition.to.rawValue
    }

    private enum Subject {
        case device(DeviceAddress)
        case collector(GroupID, CollectorID)
        case topic(String)
    }

    private func line(
        _ kind: String, _ subject: Subject, _ now: Timestamp, _ text: String,
        _ members: (inout JSONObjectWriter) -> Void
    ) -> String {
        guard isJSON else {
            let name =
                switch subject {
                case .device(let address): address.description
                case .collector(let group, let id): "\(group)/\(id)"
                case .topic(let topic): topic
                }
            let padding = String(repeating: " ", count: 10 - kind.count)
            return "\(now.shown)  \(kind)\(padding)  \(name)  \(text)".printable + "\n"
        }
        var object = JSONObjectWriter()
        object.member("at", now.microseconds)
        object.member("time", now.description)
        object.member("event", kind)
        switch subject {
        case .device(let address):
            object.member("group", address.group.rawValue)
            object.member("device", address.device.rawValue)
        case .collector(let group, let id):
            object.member("group", group.rawValue)
            object.member("collector", id.rawValue)
        case .topic(let topic): object.member("topic", topic)
        }
        members(&object)
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }
}
