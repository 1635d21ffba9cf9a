import Glibc
import LockstepSystem

/// The output of a run: what happens is printed with the elapsed time, and the lines of each program go to a file.
final class ClusterLog {
    private let folder: String
    private let begin = ContinuousClock.now
    private var files: [String: UnsafeMutablePointer<FILE>] = [:]
    private var lines: [String: [String]] = [:]
    /// Which collectors have which shares.
    private(set) var owners = ShareOwners()
    private var shownOwners = ShareOwners()
    private var ownersChanged = ContinuousClock.now
    /// Whether the nodes of NATS have elected one of them.
    private(set) var hasLeader = false
    /// Whether it does not matter any more how a part ends, such as ZooKeeper after SIGTERM.
    var isQuiet = false

    init(folder: String) { self.folder = folder }

    deinit { for file in files.values { fclose(file) } }

    /// Prints what happens.
    func event(_ text: String) {
        let tenths = Int((ContinuousClock.now - begin) / .milliseconds(100))
        let seconds = "\(tenths / 10).\(tenths % 10)"
        print(String(repeating: " ", count: max(0, 7 - seconds.count)) + seconds + " s  " + text)
        // At once, also into a pipe.
        fflush(nil)
    }

    func show(_ name: String, _ report: LocalSystem.Report) {
        switch report {
        case .killed where isQuiet, .endedWithError where isQuiet: break
        case .line(let line): add(line, of: name)
        case .started, .ready: break
        case .late(let status): event("\(name): not ready yet" + (status.isEmpty ? "" : ": \(status)"))
        case .ended(let end, let delay): event("\(name): ended (\(end)), is started again in \(delay)")
        case .failed(let reason, _): event("\(name): \(reason)")
        case .killed: event("\(name): did not stop after SIGTERM and was killed")
        case .endedWithError(let end): event("\(name): did not stop cleanly: \(end)")
        }
    }

    private func add(_ line: String, of name: String) {
        if files[name] == nil { files[name] = fopen("\(folder)/\(name).log", "a") }
        if let file = files[name] {
            fputs(line + "\n", file)
            fflush(file)
        }
        lines[name] = (lines[name] ?? []).suffix(14) + [line]
        if line.contains(NATSNode.leaderLine) { hasLeader = true }
        guard ClusterParts.collectorNames.contains(name) else { return }
        change { $0.read(line, of: name) }
    }

    /// A collector was killed or stopped.
    func didEnd(_ name: String) { change { $0.didEnd(name) } }

    private func change(_ body: (inout ShareOwners) -> Void) {
        let before = owners
        body(&owners)
        if owners != before { ownersChanged = .now }
    }

    /// Prints which collector has which shares, when that has changed and then not for half a second.
    func showOwners() {
        guard owners != shownOwners, ContinuousClock.now - ownersChanged > .milliseconds(500) else { return }
        shownOwners = owners
        event(
            "  "
                + ClusterParts.collectorNames.map { name in
                    let shares = owners.shares(of: name).sorted()
                    return "\(name): \(shares.isEmpty ? "none" : shares.joined(separator: " "))"
                }.joined(separator: ", "))
    }

    /// Prints the last lines of programs.
    func showEnd(of names: [String]) {
        for name in names {
            print("---- end of \(name).log")
            for line in lines[name] ?? [] { print(line) }
        }
    }
}
