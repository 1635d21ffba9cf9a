import ArgumentParser
import FoundationEssentials
import Glibc
import LockstepSystem

/// Runs a cluster on this machine, lets its programs fail, and verifies every sample. `deploy/cluster` builds and starts it,
/// and explains the options.
@main
struct ClusterCommand: ParsableCommand {
    enum Brokers: String, ExpressibleByArgument { case mosquitto, nats }
    enum Engine: String, ExpressibleByArgument {
        case server = "18"
        case current = "26"
    }

    static let configuration = CommandConfiguration(
        commandName: "lockstep-cluster", abstract: "Run a cluster on this machine: see deploy/cluster --help.")

    @Option var devices = 1000
    @Option var brokers = Brokers.mosquitto
    @Option var engine = Engine.server
    @Option var seconds: Int?
    @Option var kills: Int?
    @Option var seed: UInt64?
    @Flag var stay = false
    @Option var keep: String?
    /// The folder of the checkout.
    @Option var checkout: String
    /// The Python with the package `chdb-core`.
    @Option var python: String?

    func validate() throws {
        func check(_ isValid: Bool, _ text: String) throws { if !isValid { throw ValidationError(text) } }
        try check((4...20_000).contains(devices), "--devices must be from 4 to 20000")
        try check(seconds.map { (60...86_400).contains($0) } ?? true, "--seconds must be from 60 to 86400")
        try check(kills.map { (1...100_000).contains($0) } ?? true, "--kills must be from 1 to 100000")
        try check(seconds == nil || kills == nil, "use either --seconds or --kills, not both")
        try check(seed == nil || kills != nil, "--seed is for --kills")
        try check(engine == .server || python != nil, "--engine 26 needs --python")
    }

    func run() throws {
        let folder = try makeFolder()
        defer { if keep == nil { try? FileManager.default.removeItem(atPath: folder) } }
        let isComplete = try ClusterRun(self, in: folder).run()
        if keep != nil { print("Store, outboxes and logs are in \(folder)") }
        if !isComplete { throw ExitCode(1) }
    }

    /// Creates the folder of stores and logs: that of the option `--keep`, or a temporary one.
    private func makeFolder() throws -> String {
        if let keep {
            try FileManager.default.createDirectory(atPath: keep, withIntermediateDirectories: true)
            guard let path = realpath(keep, nil) else { throw ProgramError("cannot use the folder '\(keep)'") }
            defer { free(path) }
            let folder = String(cString: path)
            guard try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty else {
                throw ProgramError("the folder '\(keep)' is not empty: choose another one with --keep")
            }
            return folder
        }
        let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        var name = Array((parent + "/lockstep-cluster.XXXXXX").utf8CString)
        guard mkdtemp(&name) != nil else {
            throw ProgramError("cannot create a temporary folder: \(String(cString: strerror(errno)))")
        }
        return String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
