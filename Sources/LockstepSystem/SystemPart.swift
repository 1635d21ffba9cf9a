/// A program of a system: what to start, and when it counts as started.
public struct SystemPart: Hashable, Sendable {
    /// Parts of a lower stage are started first and stopped last.
    public enum Stage: Int, CaseIterable, Comparable, Sendable {
        case broker, collector, services, devices
        public static func < (a: Stage, b: Stage) -> Bool { a.rawValue < b.rawValue }
    }

    /// Its name in logs and reports.
    public var name: String
    /// The path of the program.
    public var program: String
    /// The arguments of the program.
    public var arguments: [String]
    /// When it is started and stopped.
    public var stage: Stage
    /// The end of the line that says that it is ready, for a program that may not use sd_notify(3).
    public var readyLine: String?
    /// The loopback port on which it listens when it is ready, for a program that logs no such line either.
    public var readyPort: UInt16?
    /// The time from SIGTERM to SIGKILL.
    public var patience: Duration

    /// Creates a part.
    public init(
        _ name: String, program: String, _ arguments: [String], stage: Stage, readyLine: String? = nil,
        readyPort: UInt16? = nil, patience: Duration = .seconds(15)
    ) {
        self.name = name
        self.program = program
        self.arguments = arguments
        self.stage = stage
        self.readyLine = readyLine
        self.readyPort = readyPort
        self.patience = patience
    }
}
