import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

/// A system whose parts can be killed, stopped, cut off, moved and restored.
final class ChaosSystem {
    static let devices = ["ant", "bee", "cow"]

    let system: TestSystem
    private let collector: ChaosProgram
    private let agents: [ChaosProgram]
    private let start = ContinuousClock.now
    /// What has happened.
    private(set) var log: [String] = []
    /// The stores that were replaced, from the oldest. What they alone have is gone, as it would be for the operator.
    private(set) var replacedStores: [String] = []
    /// The copies of the store.
    private var copies: [String] = []

    /// The store of the collector while it has another group.
    var otherStore: String { system.folder + "/other.db" }

    init(_ system: TestSystem) async throws {
        self.system = system
        let library = try await TestDisk.compile(in: system.folder)
        collector = try await ChaosProgram(
            "collector", database: system.storePath, library: library, folder: system.folder, broker: system.broker.port
        ) { url, environment, arguments in
            try system.start("lockstep-collector", ["--broker", url] + arguments, environment: environment)
        }
        var agents: [ChaosProgram] = []
        for device in Self.devices {
            agents.append(
                try await ChaosProgram(
                    device, database: system.outbox(of: device), library: library, folder: system.folder,
                    broker: system.broker.port
                ) { url, environment, arguments in
                    try system.startAgent(
                        device, source: "simulate:\(device.utf8.first ?? 0)", ["--backlog-rate", "4M"] + arguments,
                        url: url, environment: environment)
                })
        }
        self.agents = agents
    }

    private var programs: [ChaosProgram] { [collector] + agents }

    func startAll() throws {
        try startCollector()
        for agent in agents { try agent.start() }
    }

    private func startCollector() throws { try collector.start(["--store", "sqlite:\(system.storePath)"]) }

    private func note(_ text: String) {
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        log.append(String(format: "%7.2f s  ", seconds) + text)
    }

    /// The last events, for the report of a failed run.
    var lastEvents: String { log.suffix(30).joined(separator: "\n") }

    /// Lets an event happen, and waits until it is over. Then starts what has ended by itself, as systemd does.
    func apply(_ event: ChaosEvent) async throws {
        note("\(event)")
        switch event {
        case .kill(.broker, let pause):
            await system.broker.stop(SIGKILL)
            try await wait(pause)
            try await system.broker.start()
        case .kill(let target, let pause):
            guard let program = program(target) else { break }
            await program.stop(SIGKILL)
            try await wait(pause)
            try restart(program)
        case .clock(let target, let offset): try program(target)?.clock.set(wall: offset)
        case .restore(let copiesFiles, let time, let isOlder, let kills):
            await waitForCollector()
            try await copyStore(asFiles: copiesFiles)
            try await wait(time)
            try await replaceStore(by: isOlder ? copies[copies.count / 2] : copies[copies.count - 1], kills: kills)
        case .group(let time):
            await waitForCollector()
            await collector.stop(SIGTERM)
            try collector.start(["--store", "sqlite:\(otherStore)", "--group", "other"])
            try await wait(time)
            await collector.stop(SIGTERM)
            try startCollector()
        case .readOnly(let target, let time):
            try program(target)?.disk.set(isReadOnly: true)
            try await wait(time)
            try program(target)?.disk.set(isReadOnly: false)
        case .link(let target, let cuts):
            for cut in cuts {
                try await wait(cut)
                try program(target)?.cut()
            }
        case .stop(.broker, let time):
            system.broker.signal(SIGSTOP)
            try await wait(time)
            system.broker.signal(SIGCONT)
        case .stop(let target, let time):
            program(target)?.program?.signal(SIGSTOP)
            try await wait(time)
            program(target)?.program?.signal(SIGCONT)
        }
        for program in programs where !program.isRunning {
            note("\(program.name) had ended: \(program.program?.text.split(separator: "\n").last ?? "")")
            try restart(program)
        }
    }

    private func program(_ target: ChaosEvent.Target) -> ChaosProgram? {
        switch target {
        case .broker: nil
        case .collector: collector
        case .agent(let index): agents[index]
        }
    }

    private func restart(_ program: ChaosProgram) throws {
        if program === collector { try startCollector() } else { try program.start() }
    }

    /// Waits until the collector has connected.
    ///
    /// After the store was replaced and the broker was killed, it may look for another collector for 30 s. If it were always
    /// stopped before, nothing would be stored any more, and the run would prove little.
    private func waitForCollector() async {
        _ = await collector.program?.waitForOutput("connected to broker", within: .seconds(60))
    }

    /// Not waiting for an event: the next one can come at any moment.
    private func wait(_ milliseconds: Int) async throws { try await Task.sleep(for: .milliseconds(milliseconds)) }

    /// Ends the chaos: all clocks are right, all disks can be written, and the agents deliver what is left to a collector that
    /// accepts samples of any time.
    func settle() async throws {
        note("settle")
        for program in programs {
            try program.clock.set(wall: 0)
            try program.disk.set(isReadOnly: false)
        }
        for agent in agents { await agent.stop(SIGTERM) }
        await collector.stop(SIGTERM)
        for program in programs { program.disconnect() }
        let arguments = ["--max-future", "1500000h"]
        var last = try system.startCollector(arguments)
        // It may wait for a report of the collector with the other group.
        while await !last.waitForOutput("connected to broker", within: .seconds(90)) {
            note("collector had ended: \(last.text)")
            last = try system.startCollector(arguments)
        }
        do {
            for device in Self.devices { try await system.drain(device) }
        } catch { throw ProgramError("\(error)\nThe collector: \(last.text.suffix(5000))") }
        let reader = try await system.reader()
        await expectEventually("\(lastEvents)\n\(last.text)") {
            (try? reader.devices())?.allSatisfy { $0.state == .terminated } ?? false
        }
        await last.stop(SIGTERM)
    }

    /// Ends the links. The test system ends the other programs.
    func end() { for program in programs { program.disconnect() } }

    // MARK: - Copies of the store

    private func copyStore(asFiles: Bool) async throws {
        let copy = "\(system.folder)/copy-\(copies.count + 1).db"
        if asFiles {
            await collector.stop(SIGKILL)
            for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: system.storePath + suffix) {
                try FileManager.default.copyItem(atPath: system.storePath + suffix, toPath: copy + suffix)
            }
            try startCollector()
        } else {
            try SQLiteDatabase(path: system.storePath, mode: .readOnly).execute("VACUUM INTO '\(copy)'")
        }
        copies.append(copy)
    }

    private func replaceStore(by copy: String, kills: Bool) async throws {
        await collector.stop(kills ? SIGKILL : SIGTERM)
        let replaced = "\(system.folder)/replaced-\(replacedStores.count + 1).db"
        let files = FileManager.default
        for suffix in ["", "-wal", "-shm"] {
            if files.fileExists(atPath: system.storePath + suffix) {
                try files.moveItem(atPath: system.storePath + suffix, toPath: replaced + suffix)
            }
            // The copy may be restored again.
            if suffix != "-shm", files.fileExists(atPath: copy + suffix) {
                try files.copyItem(atPath: copy + suffix, toPath: system.storePath + suffix)
            }
        }
        replacedStores.append(replaced)
        try startCollector()
    }
}
