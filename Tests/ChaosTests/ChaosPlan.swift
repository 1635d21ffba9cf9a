import Foundation
import LockstepSensors
import LockstepTestSupport

/// Something that happens to a running system.
enum ChaosEvent: Hashable, CustomStringConvertible {
    /// The kinds of events, by the names in `LOCKSTEP_CHAOS_EVENTS`.
    enum Kind: String, CaseIterable {
        case kill, clock, restore, group, readonly, link, stop

        /// How often it comes in a round. A run of 30 s has about two rounds.
        var weight: Int {
            switch self {
            case .kill: 4
            case .clock, .readonly: 2
            case .restore, .group, .link, .stop: 1
            }
        }
    }

    enum Target: Hashable, CustomStringConvertible {
        case broker, collector
        case agent(Int)

        var description: String {
            switch self {
            case .broker: "broker"
            case .collector: "collector"
            case .agent(let index): "agent \(index)"
            }
        }
    }

    /// SIGKILL, and a start after a pause in ms.
    case kill(Target, pause: Int)
    /// The wall clock of a program differs from that of the machine by this time in s from now on.
    case clock(Target, offset: Int64)
    /// The store is copied, by SQLite or as files, and some ms later replaced by this copy or by an older one.
    case restore(copiesFiles: Bool, after: Int, isOlder: Bool, kills: Bool)
    /// The collector runs for some ms with another group and a store of its own.
    case group(time: Int)
    /// The disk of a program is read-only for some ms.
    case readOnly(Target, time: Int)
    /// The connection of a program is cut several times, each time after some ms.
    case link(Target, cuts: [Int])
    /// SIGSTOP, and SIGCONT after some ms.
    case stop(Target, time: Int)

    var kind: Kind {
        switch self {
        case .kill: .kill
        case .clock: .clock
        case .restore: .restore
        case .group: .group
        case .readOnly: .readonly
        case .link: .link
        case .stop: .stop
        }
    }

    var description: String {
        switch self {
        case .kill(let target, let pause): "kill \(target), start after \(pause) ms"
        case .clock(let target, let offset): "clock of \(target) \(offset >= 0 ? "+" : "")\(offset) s"
        case .restore(let copiesFiles, let time, let isOlder, let kills):
            "restore \(isOlder ? "an older copy" : "a copy of \(time) ms ago") (\(copiesFiles ? "files" : "VACUUM INTO")), "
                + "collector \(kills ? "killed" : "stopped")"
        case .group(let time): "collector with another group for \(time) ms"
        case .readOnly(let target, let time): "disk of \(target) read-only for \(time) ms"
        case .link(let target, let cuts): "link of \(target) cut after \(cuts) ms"
        case .stop(let target, let time): "stop \(target) for \(time) ms"
        }
    }
}

/// The duration, the seed and the random events of a run. They depend only on the seed and the chosen kinds.
struct ChaosPlan {
    /// 56 years in s: from today to the beginning of 1971, and to 2083.
    private static let maxClockOffset = 56 * 31_556_952.0

    let seconds: Int
    let seed: UInt64
    let kinds: [ChaosEvent.Kind]
    private let agents: Int
    private var random: SeededGenerator
    /// The rest of the present round.
    private var round: [ChaosEvent.Kind] = []

    /// A slow machine runs longer, until each kind of event has come at least once.
    var minEvents: Int { kinds.reduce(0) { $0 + $1.weight } }

    init(seconds: Int = 30, seed: UInt64, kinds: [ChaosEvent.Kind] = ChaosEvent.Kind.allCases, agents: Int) {
        self.seconds = seconds
        self.seed = seed
        self.kinds = kinds
        self.agents = agents
        random = SeededGenerator(seed: seed)
    }

    /// Reads `LOCKSTEP_CHAOS_SECONDS`, `LOCKSTEP_CHAOS_SEED` and `LOCKSTEP_CHAOS_EVENTS`, such as `kill,clock`.
    init(environment: [String: String], agents: Int) throws {
        let names = environment["LOCKSTEP_CHAOS_EVENTS"].map { $0.split(separator: ",").map(String.init) }
        let kinds = try names?.map { name in
            guard let kind = ChaosEvent.Kind(rawValue: name) else {
                throw ProgramError(
                    "LOCKSTEP_CHAOS_EVENTS: '\(name)' is no event: use "
                        + ChaosEvent.Kind.allCases.map(\.rawValue).joined(separator: ","))
            }
            return kind
        }
        self.init(
            seconds: environment["LOCKSTEP_CHAOS_SECONDS"].flatMap { Int($0) } ?? 30,
            seed: environment["LOCKSTEP_CHAOS_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...999_999),
            kinds: kinds ?? ChaosEvent.Kind.allCases, agents: agents)
    }

    /// Returns the time until the next event in ms, and the event. Each kind comes in each round, in a random order.
    mutating func next() -> (delay: Int, event: ChaosEvent) {
        if round.isEmpty { round = kinds.flatMap { Array(repeating: $0, count: $0.weight) }.shuffled(using: &random) }
        let kind = round.removeLast()
        return (milliseconds(50...1500), event(kind))
    }

    private mutating func event(_ kind: ChaosEvent.Kind) -> ChaosEvent {
        switch kind {
        case .kill:
            // Half of the time the program starts at once; otherwise the others run without it for a while.
            .kill(target(), pause: Bool.random(using: &random) ? 0 : milliseconds(1...1500))
        case .clock: .clock(program(), offset: clockOffset())
        case .restore:
            .restore(
                copiesFiles: .random(using: &random), after: milliseconds(100...2000), isOlder: .random(using: &random),
                kills: .random(using: &random))
        case .group: .group(time: milliseconds(300...2500))
        case .readonly: .readOnly(program(), time: milliseconds(200...3000))
        case .link:
            .link(program(), cuts: (0..<Int.random(in: 2...8, using: &random)).map { _ in milliseconds(20...600) })
        case .stop: .stop(target(), time: milliseconds(50...3000))
        }
    }

    private mutating func milliseconds(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    private mutating func target() -> ChaosEvent.Target {
        Int.random(in: 0..<5, using: &random) == 0 ? .broker : program()
    }

    private mutating func program() -> ChaosEvent.Target {
        Int.random(in: 0..<4, using: &random) == 0 ? .collector : .agent(Int.random(in: 0..<agents, using: &random))
    }

    /// Returns a step of seconds as likely as one of years. A quarter are back to the right time.
    private mutating func clockOffset() -> Int64 {
        let size = exp(Double.random(in: 0...log(Self.maxClockOffset), using: &random))
        let sign = Bool.random(using: &random) ? 1.0 : -1.0
        return Int.random(in: 0..<4, using: &random) == 0 ? 0 : Int64(sign * size)
    }
}
