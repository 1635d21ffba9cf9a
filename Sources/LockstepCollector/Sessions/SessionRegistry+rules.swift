import LockstepModel
import LockstepRules
import LockstepWire

extension SessionRegistry {
    /// Carries out what a rule asks for, by the same requests as those of clients.
    ///
    /// Times are those of the event. It may be of a backlog: so a session is marked if the event is in its time, whatever its
    /// state is, and not stopped before its start.
    /// - Parameters:
    ///   - device: the device of the event.
    ///   - known: the devices of its group that are not forgotten.
    /// - Throws: the reason why a request is refused.
    mutating func perform(
        _ action: RecordAction, for event: StoredEvent, of device: DeviceAddress, known: () -> [DeviceID],
        at moment: Moment
    ) throws(PayloadError) {
        // The clock of the device may be ahead, or before 1970.
        let first = Timestamp(microseconds: 0)
        let time = max(first, min(event.time, moment.wall))
        func filled(_ name: String) -> String {
            name.replacing("{rule}", with: event.rule).replacing("{group}", with: device.group.rawValue)
                .replacing("{device}", with: device.device.rawValue)
        }
        let all = sessions(of: device.group)
        switch action {
        case .start(let start):
            let name = filled(start.session)
            let begin = max(first, time - start.before)
            // One with this start is that of this event, which a killed collector has not noted as done.
            guard !all.contains(where: { $0.name == name && ($0.canStop || ($0.start == begin && begin > first)) })
            else { return }
            let id = SessionID.named(name) { self[.init(group: device.group, id: $0)] != nil }
            var session = RecordingSession(key: .init(group: device.group, id: id), name: name, created: moment.wall)
            session.start = begin
            session.length = start.length
            session.rates = start.rates
            session.labels = start.labels
            session.includesGroup = start.includesGroup
            if !start.includesGroup { session.devices[device.device] = .init(joined: moment.wall) }
            try handle(.start(session), of: session.key, known: known, at: moment)
        case .mark(let session):
            let name = session.map(filled)
            // With this id, an event that is notified again replaces its marker.
            let marker = RecordingSession.Marker(
                id: "event-\(event.id)", time: event.time, clock: .client, text: SessionJSON.cut(event.text),
                device: device.device, value: event.value)
            for session in all where session.start.map({ $0 <= marker.time }) == true {
                guard session.end.map({ marker.time < $0 }) ?? true,
                    name.map({ $0 == session.name }) ?? (session.devices[device.device] != nil)
                else { continue }
                try handle(.mark(marker), of: session.key, known: known, at: moment)
            }
        case .stop(let name):
            let name = filled(name)
            for session in all where session.name == name && session.canStop {
                guard session.start.map({ $0 < time }) ?? true else { continue }
                let end = Moment(wall: time, boot: moment.boot, awake: moment.awake)
                try handle(.stop, of: session.key, known: known, at: end)
            }
        }
    }
}
