import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSystem

/// One run of `lockstep up`.
final class UpSession {
    private let command: UpCommand
    private var plan: UpPlan
    private let output: UpOutput
    private let log: UpLog
    private let system: LocalSystem
    private let interrupt: Interrupt
    private let folder: UpFolder
    /// The port of the broker on this machine; nil for a broker elsewhere.
    private var brokerPort: UInt16?
    private var relay: Relay?
    private var faults: FaultPlan?
    /// Whether all parts were ready once.
    private var isUp = false

    init(_ command: UpCommand) throws {
        self.command = command
        let output = UpOutput()
        self.output = output
        let log = UpLog(isJSON: command.json) { output.write($0) }
        self.log = log
        system = LocalSystem { log.show($0, $1) }
        // Before anything is started, so that no signal leaves something behind.
        interrupt = Interrupt(wakeup: system.wakeup, signals: [SIGINT, SIGTERM, SIGHUP])
        folder = try UpFolder(command.folder, isTemporary: command.demo != nil && command.folder == nil)
        plan = UpPlan(folder: folder.path, broker: command.broker ?? "")
        plan.hasPage = !command.noPage
        plan.listen = command.listen
        plan.devices = command.demo ?? 0
        plan.isJSON = command.json
    }

    /// Runs until the end, or until the user interrupts it.
    /// - Returns: false if the samples of a demo are not complete.
    /// - Throws: ``CommandFailure`` if a part cannot start.
    func run() throws -> Bool {
        defer { folder.removeIfTemporary() }
        do {
            try start()
            try runUntilEnd()
            // Who asks with SIGTERM does not want to wait for the backlog of a demo.
            if command.demo != nil, isUp, !mustEnd { return try verify() }
        } catch let error as ProgramError {
            system.stop(isUrgent: { self.interrupt.isRepeated })
            throw CommandFailure(error.description)
        } catch {
            system.stop(isUrgent: { self.interrupt.isRepeated })
            throw error
        }
        log.event("", command.demo == nil ? "stopping" : "stopping without a verification")
        system.stop(isUrgent: { self.interrupt.isRepeated })
        return command.demo == nil
    }

    /// Whether the user does not want to wait for what takes long.
    private var mustEnd: Bool { interrupt.isRepeated || interrupt.signal ?? SIGINT != SIGINT }

    // MARK: - Start

    private func start() throws {
        try checkStore()
        if command.broker == nil { try startBroker() }
        if command.phones {
            let port = command.phonesPort ?? 8443
            let files = command.serverCertFile.flatMap { certificate in
                command.serverKeyFile.map { (certificateFile: certificate, keyFile: $0) }
            }
            plan.phones = (port, try PhoneAccess(folder: folder.subfolder("phones"), port: port, files: files))
        }
        if command.faults {
            faults = FaultPlan(devices: plan.deviceNames, hasPage: plan.hasPage)
            if let disconnected = faults?.disconnected, let brokerPort {
                let relay = try Relay(to: brokerPort)
                plan.relay = (disconnected, "mqtt://127.0.0.1:\(relay.port)")
                self.relay = relay
            }
        }
        if command.demo != nil, plan.hasPage, plan.listen == nil { plan.listen = "127.0.0.1:\(try freePort())" }
        let parts = try plan.parts(program: ProgramLocation.lockstep)
        // Nothing needs the others to start. But without a store, a new page would begin with a warning.
        for stage in SystemPart.Stage.allCases where !interrupt.isSet {
            for part in parts where part.stage == stage { try system.start(part) }
            try waitUntilReady()
        }
        guard !interrupt.isSet else { return }
        isUp = true
        log.ready(addresses)
        if !command.json, let access = plan.phones?.access {
            output.write(
                access.code ?? "To see the address for phones as a QR code: sudo apt-get install qrencode\n")
        }
    }

    /// A demo does not mix its samples with those of real devices.
    private func checkStore() throws {
        let path = folder.path + "/samples.db"
        guard command.demo != nil, FileManager.default.fileExists(atPath: path),
            // The collector reports a store that cannot be read.
            let known = try? StoreReader(path: path).devices(),
            let other = known.map(\.address).first(where: { !UpPlan.isSimulated($0) })
        else { return }
        throw CommandFailure(
            "the store \(path) has devices that are not of a demo, such as \(other): choose another --folder, or leave "
                + "out --folder")
    }

    /// Waits until all parts that were started are ready, or the user interrupts it.
    private func waitUntilReady() throws {
        // A part that takes long is reported, and may wait for something that a person has to do.
        let limit: Duration = command.demo == nil ? .seconds(86_400) : .seconds(120)
        try system.run(until: .now + limit) { !system.isReady && !interrupt.isSet }
        if !system.isReady, !interrupt.isSet {
            throw CommandFailure("the system is not ready after \(limit): see the log of its parts above")
        }
    }

    private func startBroker() throws {
        let port = try command.port.map { UInt16($0) } ?? (command.demo == nil ? 1883 : freePort())
        plan.broker = "mqtt://127.0.0.1:\(port)"
        brokerPort = port
        if canConnect(port: port) {
            guard command.demo == nil, !command.network else {
                throw CommandFailure("port \(port) is in use: stop the program that listens, or use --port")
            }
            try BrokerCheck.run(plan.broker)
            return log.event("", "using the broker that listens on port \(port) already")
        }
        guard let mosquitto = ProgramLocation.system("mosquitto") else {
            throw CommandFailure(
                "mosquitto is not installed, and no broker listens on 127.0.0.1:\(port): run 'sudo apt-get install "
                    + "mosquitto', or name another broker with --broker")
        }
        let (installed, source) = ("broker/development.conf", "broker-config/development.conf")
        guard let shipped = ProgramLocation.file(installed: installed, source: source),
            let text = try? String(contentsOfFile: shipped, encoding: .utf8)
        else {
            throw CommandFailure(
                "the configuration of the broker, share/lockstep/\(installed), is missing: install it again, or start a "
                    + "broker yourself")
        }
        let settings = BrokerSettings(
            port: port, address: command.network ? nil : "127.0.0.1", folder: try folder.subfolder("broker") + "/",
            user: UpFolder.userName)
        let file = folder.path + "/broker/mosquitto.conf"
        try settings.text(from: text).write(toFile: file, atomically: true, encoding: .utf8)
        try system.start(
            SystemPart(
                "broker", program: mosquitto, ["-c", file], stage: .broker, readyLine: " running",
                patience: .seconds(5)))
        try waitUntilReady()
    }

    /// What a user needs to know of a system that is ready.
    private var addresses: [(name: String, text: String)] {
        var lines: [(name: String, text: String)] = []
        if plan.hasPage {
            // The settings of the page may name another address: it logs the one it uses.
            let isOwn = plan.listen == nil && FileManager.default.fileExists(atPath: plan.folder + "/serve.yaml")
            let listen = plan.listen ?? "127.0.0.1:8080"
            lines.append(
                ("page", isOwn ? "see serve.yaml" : "http://\(listen.contains(":") ? listen : "127.0.0.1:\(listen)")/"))
        }
        if let access = plan.phones?.access {
            lines.append(("phones", access.address))
            lines += access.trustSteps
        }
        lines.append(("broker", plan.broker))
        lines.append(("store", plan.store))
        if command.demo == nil {
            let agent = "lockstep-agent --device NAME --source iio --broker"
            if let brokerPort {
                let host = OwnAddress.own ?? "THIS-MACHINE"
                lines.append(("agent here", "\(agent) mqtt://127.0.0.1:\(brokerPort)"))
                if command.network {
                    lines.append(("agent on another machine", "\(agent) mqtt://\(host):\(brokerPort)"))
                } else {
                    // The broker accepts everyone on this machine, so it must not be reached from others.
                    lines.append(
                        (
                            "agent on another machine",
                            "ssh -fN -L 1883:127.0.0.1:\(brokerPort) \(UpFolder.userName)@\(host) && \(agent) "
                                + "mqtt://127.0.0.1:1883"
                        ))
                }
            } else {
                lines.append(("agent", "\(agent) \(plan.broker)"))
            }
            lines.append(("to try it without sensors", "--source simulate:1 instead of --source iio"))
        }
        lines.append(("end", command.demo == nil ? "Ctrl-C" : "Ctrl-C ends it and verifies the samples"))
        return lines
    }

    // MARK: - Run

    private func runUntilEnd() throws {
        let start = ContinuousClock.now
        let seconds = command.seconds ?? (command.faults ? 30 : nil)
        let end = seconds.map { start + .seconds($0) }
        while !interrupt.isSet, end.map({ .now < $0 }) ?? true {
            if let seconds {
                while let action = faults?.next(at: (ContinuousClock.now - start) / .seconds(seconds)) {
                    try apply(action)
                }
            }
            let next = faults?.steps.first.map { start + .seconds(Double(seconds ?? 0) * $0.share) }
            let until = min(end ?? .now + .seconds(3600), next ?? .now + .seconds(3600))
            try system.run(until: until) { !interrupt.isSet }
        }
        // What is down when the user interrupts the run has samples to deliver.
        if let ending = faults?.ending { try apply(ending) }
    }

    private func apply(_ action: FaultPlan.Action) throws {
        switch action {
        case .kill(let name):
            system.kill(name)
            log.event(name, "was killed with SIGKILL")
        case .stop(let name):
            system.kill(name, with: SIGTERM)
            log.event(name, "is stopped")
        case .restart(let name):
            system.release(name)
            log.event(name, "is started again")
        case .disconnect(let name):
            relay?.cut()
            log.event(name, "is disconnected from the broker")
        case .reconnect(let name):
            try relay?.restore()
            log.event(name, "has its network back")
        }
    }

    // MARK: - End

    /// Delivers what is left, stops the system, and verifies the samples of a demo.
    private func verify() throws -> Bool {
        log.event("", "the time is over: waiting until no device has a backlog")
        try waitForDelivery()
        log.event("", "stopping the devices")
        let isClean = system.stop(.devices, isUrgent: { self.interrupt.isRepeated })
        log.event("", "verifying every accepted sample against the store")
        let deadline = ContinuousClock.now + .seconds(30)
        while try lockstep(plan.verification)?.status != 0, ContinuousClock.now < deadline, !mustEnd {
            try system.run(until: .now + .milliseconds(200)) { !mustEnd }
        }
        system.stop(isUrgent: { self.interrupt.isRepeated })
        let json = plan.isJSON ? ["--json"] : []
        guard let devices = try lockstep(["devices", "--store", plan.store] + json),
            let result = try lockstep(plan.verification + json)
        else {
            log.event("", "ended without a verification")
            return false
        }
        let isComplete = result.status == 0
        var text = plan.isJSON ? devices.text + result.text : "\n\(devices.text)\n\(result.text)\n"
        if !plan.isJSON {
            if isComplete { text += "Every accepted sample is stored exactly once.\n" }
            if let kept = folder.keptPath { text += "Store, outboxes and logs are in \(kept)\n" }
        }
        // Nothing is supervised any more.
        output.write(text, within: .seconds(10))
        return isComplete && isClean
    }

    /// Waits until the collector has acknowledged what the devices have accepted by now.
    private func waitForDelivery() throws {
        var marks: [String: DeliveryMark] = [:]
        var left = plan.deviceNames
        try run(within: .seconds(60 + plan.devices)) {
            for device in left where marks[device] == nil {
                marks[device] = try? DeliveryMark(outbox: plan.outbox(of: device))
            }
            left.removeAll { marks[$0]?.isReached == true }
            // A device that has just started has no backlog, and no connection.
            return left.isEmpty
                && plan.deviceNames.map(system.status).allSatisfy {
                    $0.hasPrefix("connected") && $0.contains("backlog of 0 ")
                }
        }
    }

    /// Supervises the system until a condition holds, the time is over, or the user does not want to wait.
    private func run(within limit: Duration, until condition: () -> Bool) throws {
        let deadline = ContinuousClock.now + limit
        while !condition(), ContinuousClock.now < deadline, !mustEnd {
            // A status is no event that ends `run`, so look again soon.
            try system.run(until: min(deadline, .now + .milliseconds(200))) { !mustEnd }
        }
    }

    /// Runs this program with other arguments while the system is supervised, and returns its output; nil if the user does
    /// not want to wait.
    private func lockstep(_ arguments: [String]) throws -> (status: Int32, text: String)? {
        guard !mustEnd else { return nil }
        let program = try RunningProgram(ProgramLocation.own, arguments, inheriting: system.environment)
        defer { if program.isRunning { program.terminate(patience: .seconds(1)) } }
        while program.isRunning, !mustEnd {
            try system.run(until: .now + .milliseconds(200)) { program.isRunning && !mustEnd }
        }
        guard let status = program.status else { return nil }
        return (status, program.text)
    }
}
