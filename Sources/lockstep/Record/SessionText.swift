import LockstepCommandLine
import LockstepModel

extension RecordingSession {
    /// The exit status that tells whether the session is complete: 1 if something is missing, 2 if it may still arrive.
    var exitStatus: Int32 {
        if state == .complete { return 0 }
        let isLost = devices.values.contains { $0.missing > 0 || ($0.problem == Self.noSamples) }
        return isLost || devices.isEmpty ? 1 : 2
    }
}

/// What is printed about sessions.
enum SessionText {
    /// Returns a line that shows what a session waits for.
    static func line(_ session: RecordingSession) -> String {
        let problems = session.devices.sorted { $0.key < $1.key }.compactMap { id, device in
            device.problem.map { "\(id): \($0)" }
        }
        let ready = session.devices.count - problems.count
        let elapsed = session.start.map { " \(max(0, (Moment.now().wall - $0) / 1_000_000)) s" } ?? ""
        return
            ([session.state.rawValue + elapsed, "\(ready) of \(counted(session.devices.count, "device")) ready"]
            + problems).joined(separator: "; ")
    }

    /// Returns what is printed when a session is recording.
    static func started(_ session: RecordingSession) -> String {
        var text =
            "\(session.key.id): \(session.state.rawValue)"
            + (session.start.map { " since \($0.shown)" } ?? "") + ", \(counted(session.devices.count, "device"))\n"
        for (id, device) in session.devices.sorted(by: { $0.key < $1.key }) {
            if let problem = device.problem { text += "  \(id) is not ready: \(problem)\n" }
        }
        return text
    }

    /// Returns name, times, labels and state in a few lines.
    static func summary(_ session: RecordingSession) -> String {
        var text =
            "\(Terminal.escaped(session.name)) (\(session.key.group)/\(session.key.id)): \(session.state.rawValue)\n"
        if let start = session.start {
            text += "  \(start.shown) – \(session.end.map { "\($0.shown), \(seconds($0 - start))" } ?? "now")\n"
        }
        for (key, value) in session.labels.sorted(by: { $0.key < $1.key }) {
            text += "  \(Terminal.escaped(key))=\(Terminal.escaped(value))\n"
        }
        if let note = session.note { text += "  \(Terminal.escaped(note))\n" }
        return text
    }

    static func table(_ session: RecordingSession, for terminal: Terminal) -> String {
        var table = Table(["DEVICE", .right("CLOCK BOUND"), .right("ON ITS WAY"), .right("MISSING"), "PROBLEM"])
        for (id, device) in session.devices.sorted(by: { $0.key < $1.key }) {
            table.rows.append([
                .init(id.rawValue, .bold), .init(device.clockBound.map { "\($0) µs" } ?? "-"),
                "\(device.onItsWay)", .init("\(device.missing)", device.missing > 0 ? .red : .plain),
                .init(device.problem ?? "-", device.problem == nil ? .plain : .yellow),
            ])
        }
        return table.text(for: terminal)
    }

    static func seconds(_ interval: Int64) -> String { "\(Double(interval / 1000) / 1000) s" }
}
