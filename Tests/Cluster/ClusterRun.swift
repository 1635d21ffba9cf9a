import FoundationEssentials
import Glibc
import LockstepModel
import LockstepSensors
import LockstepSystem

/// One run of a cluster.
final class ClusterRun {
    private let command: ClusterCommand
    private let parts: ClusterParts
    private let log: ClusterLog
    private let system: LocalSystem
    private let interrupt: Interrupt
    /// The simulated devices of each group.
    private var simulators: [(group: String, program: RunningProgram)] = []
    /// The parts that are killed or stopped at present.
    private var down: Set<String> = []
    /// Whether Ctrl-C ends the faults and verifies the samples.
    private var isUp = false

    init(_ command: ClusterCommand, in folder: String) throws {
        self.command = command
        let log = ClusterLog(folder: folder)
        self.log = log
        system = LocalSystem { log.show($0, $1) }
        interrupt = Interrupt(wakeup: system.wakeup, signals: [SIGINT, SIGTERM, SIGHUP])
        parts = try ClusterParts(command, in: folder)
    }

    /// Runs the cluster until its samples are verified.
    /// - Returns: whether every sample is stored exactly once, on each replica.
    func run() throws -> Bool {
        defer {
            for simulator in simulators where simulator.program.isRunning { simulator.program.signalGroup(SIGKILL) }
        }
        do {
            try start()
            if let kills = command.kills { try killAtRandom(kills) } else { try killInTurn() }
            try restartAll()
            if command.stay, !interrupt.isSet {
                log.event("the system stays running: press Ctrl-C to stop it and verify the samples")
                while !interrupt.isSet { try supervise(for: .milliseconds(500)) }
            }
            return try verify()
        } catch {
            log.showEnd(of: system.names)
            log.isQuiet = true
            system.stop(isUrgent: { true })
            throw error
        }
    }

    // MARK: - Supervision

    private func supervise(for duration: Duration) throws {
        // Who asks with SIGTERM or a second Ctrl-C does not want to wait for the verification.
        func mustEnd() -> Bool {
            interrupt.isRepeated || interrupt.isSet && !isUp || interrupt.signal.map { $0 != SIGINT } == true
        }
        try system.run(until: .now + duration) { !mustEnd() }
        if mustEnd() { throw ProgramError("interrupted") }
        log.showOwners()
    }

    /// Waits until a condition holds.
    private func wait(_ what: String, within limit: Duration, until condition: () throws -> Bool) throws {
        let deadline = ContinuousClock.now + limit
        while try !condition() {
            guard .now < deadline else { throw ProgramError("not within \(limit): \(what)") }
            try supervise(for: .milliseconds(200))
        }
    }

    /// Runs a program while the system is supervised.
    private func output(_ program: String, _ arguments: [String]) throws -> (status: Int32, text: String) {
        let program = try RunningProgram(program, arguments, inheriting: system.environment)
        while program.isRunning || !program.isOutputComplete { try supervise(for: .milliseconds(20)) }
        return (program.status ?? -1, program.text)
    }

    /// Executes a SELECT statement on a replica. Returns nil if it does not answer.
    private func query(_ statement: String, at port: UInt16, database: String, seconds: Int) throws -> String? {
        let result = try output(
            ProgramLocation.system("curl") ?? "",
            [
                "--silent", "--fail", "--max-time", "\(seconds)", "--data-binary", statement,
                "http://127.0.0.1:\(port)/?database=\(database)",
            ])
        return result.status == 0 ? result.text : nil
    }

    /// The number of samples of simulated devices on a replica.
    private func rows(at port: UInt16, seconds: Int = 60) throws -> Int? {
        let statement = """
            SELECT uniqExact(device_id, t) FROM received_accelerometer
            WHERE device_id IN (SELECT device_id FROM devices WHERE device LIKE 'sim-%')
            """
        return try query(statement, at: port, database: "lockstep", seconds: seconds)
            .flatMap { Int($0.prefix { $0.isNumber }) }
    }

    /// Fails unless samples are stored.
    private func expectProgress() throws {
        guard !simulators.isEmpty else { return }
        func stored() throws -> Int { try parts.replicaPorts.compactMap { try rows(at: $0) }.max() ?? 0 }
        var before = 0
        try wait("samples are stored", within: .seconds(90)) {
            before = try stored()
            return before > 0
        }
        try wait("more than \(before) samples are stored", within: .seconds(90)) { try stored() > before }
    }

    // MARK: - Start

    private func start() throws {
        for part in parts.servers { try system.start(part) }
        try wait("all servers are ready", within: .seconds(120)) { system.isReady }
        if parts.isNATS { try wait("NATS elects a leader", within: .seconds(60)) { log.hasLeader } }
        if parts.isReplicated {
            for port in parts.replicaPorts {
                let statement = "SELECT count() FROM system.zookeeper WHERE path = '/'"
                try wait("the replicas reach a keeper", within: .seconds(60)) {
                    try query(statement, at: port, database: "default", seconds: 10) != nil
                }
            }
        }
        log.event("servers started: \(parts.broker), \(parts.store)")
        // The first one creates the tables.
        for part in try parts.collectors() {
            try system.start(part)
            try wait("collector \(part.name) is ready", within: .seconds(120)) { system.isReady }
        }
        try wait("the collectors have all shares", within: .seconds(120)) { log.owners.all == ClusterParts.shares }
        try system.start(parts.page())
        try wait("the page is ready", within: .seconds(60)) { system.isReady }
        log.event("page: http://\(parts.listen)/")
        for part in try parts.agents() { try system.start(part) }
        for (index, group) in ClusterParts.groups.enumerated() {
            let devices = (command.devices + index) / ClusterParts.groups.count - 1
            guard devices > 0 else { continue }
            let program = try RunningProgram(
                try ClusterParts.program("lockstep"), parts.simulation(of: group, devices: devices),
                inheriting: system.environment)
            simulators.append((group, program))
        }
        try wait("the agents are ready", within: .seconds(60)) { system.isReady }
        isUp = true
        log.event("\(command.devices) devices started: accelerometer at 10 Hz, and four agents with motion at 100 Hz")
    }

    // MARK: - Faults

    /// Lets a part fail. What the others store meanwhile shows before it is started again.
    private func kill(_ name: String, with signal: Int32 = SIGKILL) {
        system.kill(name, with: signal)
        log.didEnd(name)
        down.insert(name)
    }

    private func restart(_ name: String) {
        system.release(name)
        down.remove(name)
    }

    /// Whether nothing can be stored while a part is down.
    private func isEssential(_ name: String) -> Bool { name.hasPrefix("replica") || parts.brokerNames == [name] }

    private func killInTurn() throws {
        var plan = FaultPlan(
            collectors: ("two", "three"), store: "replica-0", keeper: parts.isReplicated ? "keeper-1" : nil,
            broker: parts.brokerNames.last ?? "", page: "page")
        let start = ContinuousClock.now
        let seconds = Double(command.seconds ?? 120)
        func share() -> Double { (ContinuousClock.now - start) / .seconds(seconds) }
        while share() < 1, !interrupt.isSet {
            while !interrupt.isSet, let action = plan.next(at: share()) {
                if !down.contains(where: isEssential) { try expectProgress() }
                apply(action)
            }
            try supervise(for: .milliseconds(200))
        }
    }

    private func apply(_ action: FaultPlan.Action) {
        switch action {
        case .kill(let name):
            kill(name)
            log.event(
                "\(name): killed with SIGKILL" + (isEssential(name) ? "; nothing is stored until it is back" : ""))
        case .stop(let name):
            kill(name, with: SIGTERM)
            log.event("\(name): stopped with SIGTERM")
        case .restart(let name):
            restart(name)
            log.event("\(name): started again")
        case .disconnect, .reconnect: preconditionFailure("devices of a cluster have no relay")
        }
    }

    private func killAtRandom(_ count: Int) throws {
        let seed = command.seed ?? .random(in: 0...999_999)
        var generator = SeededGenerator(seed: seed)
        log.event("killing programs \(count) times in random order: --seed \(seed)")
        var kills = RandomKills(of: parts.servers.map(\.name) + ClusterParts.collectorNames, count: count)
        var round = 0
        while kills.left > 0, !interrupt.isSet {
            if round % 6 == 0 { try expectProgress() }
            round += 1
            for (name, pause) in kills.next(using: &generator) {
                kill(name)
                log.event("\(name): killed, \(kills.left) kills left")
                try supervise(for: pause)
            }
            try restartAll()
            try supervise(for: .milliseconds(Int.random(in: 0..<3000, using: &generator)))
        }
        try wait("all programs are ready", within: .seconds(120)) { system.isReady }
        try expectProgress()
    }

    /// Starts again what is down, and waits until the servers among them listen.
    private func restartAll() throws {
        let servers = parts.servers.map(\.name).filter(down.contains)
        for name in down { restart(name) }
        try wait("\(servers.joined(separator: " and ")) listens", within: .seconds(60)) {
            servers.allSatisfy(system.isReady(_:))
        }
    }

    // MARK: - End

    /// Delivers what is left, stops the system, and verifies all samples.
    private func verify() throws -> Bool {
        var isComplete = true
        log.event("waiting until the samples of all devices are acknowledged")
        for simulator in simulators { simulator.program.signal(SIGTERM) }
        for (group, program) in simulators {
            try wait("the simulated devices of the group \(group) end", within: .seconds(600)) {
                !program.isRunning && program.isOutputComplete
            }
            if program.status != 0 {
                log.event("the simulated devices of the group \(group) are not complete: \(program.text.suffix(1000))")
                isComplete = false
            }
        }
        let marks = try ClusterParts.groups.map { try DeliveryMark(outbox: parts.outbox(of: $0)) }
        try wait("the agents have no backlog", within: .seconds(600)) { marks.allSatisfy(\.isReached) }
        let lockstep = try ClusterParts.program("lockstep")
        if !system.stop(.devices) { isComplete = false }
        let deadline = ContinuousClock.now + .seconds(60)
        while try output(lockstep, parts.verification).status != 0, .now < deadline {
            try supervise(for: .milliseconds(500))
        }
        for stage in [SystemPart.Stage.services, .collector] where !system.stop(stage) { isComplete = false }
        log.event("verifying every accepted sample against the store")
        let result = try output(lockstep, parts.verification)
        if result.status != 0 { isComplete = false }
        // The devices that are not complete, if any, and the last line.
        for line in result.text.split(separator: "\n")
        where !line.hasPrefix(" ") && line.wholeMatch(of: /[^ ]*\/(sim-\d+|agent)/) == nil {
            print(line)
        }
        let sent = simulators.reduce(0) { sum, simulator in
            let report = simulator.program.text.firstMatch(of: /"sent":{"batches":\d+,"samples":(\d+)/)
            return sum + (report.flatMap { Int($0.1) } ?? 0)
        }
        for (index, port) in parts.replicaPorts.enumerated() {
            let stored = try rows(at: port, seconds: 3600)
            print(
                "simulated devices: \(sent) samples sent, \(stored.map(String.init) ?? "unknown") stored on replica "
                    + "\(index)")
            if stored != sent { isComplete = false }
        }
        if isComplete {
            print("Every accepted sample is stored exactly once, on \(parts.replicaPorts.count) replica(s).")
        } else {
            log.showEnd(of: ClusterParts.collectorNames)
            print("The verification failed: see above")
        }
        log.isQuiet = true
        system.stop()
        return isComplete
    }
}
