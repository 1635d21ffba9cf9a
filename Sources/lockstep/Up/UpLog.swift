import LockstepCommandLine
import LockstepModel
import LockstepSystem
import LockstepWire

/// The log of `lockstep up`: the lines of all parts with their names, and what the command itself does.
struct UpLog {
    let isJSON: Bool
    let terminal: Terminal
    private let write: (String) -> Void
    /// The width of the names.
    private static let width = 9

    init(isJSON: Bool, terminal: Terminal = .output, write: @escaping (String) -> Void) {
        self.isJSON = isJSON
        self.terminal = terminal
        self.write = write
    }

    /// Writes what happens to a part.
    func show(_ name: String, _ report: LocalSystem.Report) {
        switch report {
        case .line(let line): self.line(line, of: name)
        case .started: break
        case .ready: event(name, "is ready")
        case .late(let status):
            event(name, "is not ready yet" + (status.isEmpty ? "" : ": \(status)"), style: .yellow)
        case .ended(let end, let delay):
            event(name, "ended unexpectedly (\(end)); starting it again in \(Self.seconds(delay))", style: .red)
        case .failed(let reason, let delay):
            event(name, "\(reason); trying again in \(Self.seconds(delay))", style: .red)
        case .killed: event(name, "did not stop after SIGTERM and was killed", style: .red)
        case .endedWithError(let end): event(name, "did not stop cleanly: \(end)", style: .red)
        }
    }

    /// Writes a line of a part.
    func line(_ line: String, of name: String) {
        guard isJSON else { return write(prefix(name, .faint) + line.printable + "\n") }
        if line.hasPrefix("{"), case .object(let members)? = try? JSONParser.parse(Array(line.utf8)),
            !members.isEmpty
        {
            var object = JSONObjectWriter()
            object.member("part", name)
            let start = String(decoding: object.finish(), as: UTF8.self).dropLast()
            return write("\(start),\(line.dropFirst())\n")
        }
        var object = JSONObjectWriter()
        object.member("part", name)
        object.member("text", line)
        write(String(decoding: object.finish(), as: UTF8.self) + "\n")
    }

    /// Writes what the command itself does: to a part, or to the whole system.
    func event(_ name: String = "", _ text: String, style: Terminal.Style = .bold) {
        guard isJSON else {
            let subject = name.isEmpty ? text : "\(name) \(text)"
            return write(prefix("up", style) + terminal.styled(subject, style) + "\n")
        }
        var object = JSONObjectWriter()
        object.member("part", "up")
        object.member("time", Moment.now().wall.iso8601Milliseconds)
        if !name.isEmpty { object.member("about", name) }
        object.member("event", text)
        write(String(decoding: object.finish(), as: UTF8.self) + "\n")
    }

    /// Writes the addresses of a system that is ready.
    func ready(_ addresses: [(name: String, text: String)]) {
        guard isJSON else {
            let width = addresses.map(\.name.count).max() ?? 0
            let lines = addresses.map { name, text in
                "  " + terminal.styled(name + String(repeating: " ", count: width - name.count), .bold) + "  \(text)\n"
            }
            return write("\n" + lines.joined() + "\n")
        }
        var object = JSONObjectWriter()
        object.member("part", "up")
        object.member("event", "ready")
        for (name, text) in addresses { object.member(name.replacing(" ", with: "_"), text) }
        write(String(decoding: object.finish(), as: UTF8.self) + "\n")
    }

    private func prefix(_ name: String, _ style: Terminal.Style) -> String {
        terminal.styled(name + String(repeating: " ", count: max(0, Self.width - name.count)) + " │ ", style)
    }

    private static func seconds(_ delay: Duration) -> String {
        "\((delay / .milliseconds(100)).rounded() / 10) s"
    }
}
