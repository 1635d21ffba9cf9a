import FoundationEssentials
import Glibc
import LockstepModel
import LockstepRules
import LockstepStore

/// Evaluates rules on what a store writes.
final class RuleObserver: IngestObserver {
    /// The intervals at which health is checked, in µs.
    private static let deliveryInterval: Int64 = 60_000_000
    private static let diskInterval: Int64 = 10_000_000

    private var engine: RuleEngine
    /// The folder of the store, whose file system is checked.
    private let folder: String
    private var events: [RuleEvent] = []
    private var moment = Moment.now()
    private var nextDelivery: Int64 = 0
    private var nextDisk: Int64 = 0
    /// The streams of devices whose newest times are known, as table-independent keys.
    private var prepared: [Int: Set<SensorStream>] = [:]
    /// The devices that the current transaction forgets.
    private var forgotten: Set<Int> = []

    /// - Parameter owns: returns whether rules are about a device. Other collectors may store other devices in the same place.
    init(
        _ rules: RuleSet, store: any SampleStore, folder: String, owns: (DeviceAddress) -> Bool = { _ in true }
    ) throws {
        self.folder = folder
        engine = RuleEngine(rules, states: try Self.states(store))
        for (address, id) in try store.deviceIDs() where owns(address) {
            engine.add(address, number: Int(id), at: moment)
        }
        engine.commit()
    }

    var isEmpty: Bool { engine.isEmpty }

    /// Replaces the rules, between two transactions. Unchanged rules keep their states.
    func replace(_ rules: RuleSet, store: any SampleStore) throws {
        let devices = engine.replace(rules, states: try Self.states(store))
        moment = .now()
        for (number, address) in devices { engine.add(address, number: number, at: moment) }
        engine.commit()
        prepared.removeAll()
        (nextDelivery, nextDisk) = (0, 0)
    }

    func isTickDue(_ tick: IngestGroup.Tick) -> Bool {
        let needs = engine.needsHealth
        return engine.isTickDue(at: tick.moment, listeningSince: tick.listeningSince)
            || (needs.delivery && tick.moment.boot >= nextDelivery) || (needs.disk && tick.moment.boot >= nextDisk)
    }

    func watches(_ stream: SensorStream) -> Bool { engine.watches(stream) }

    func keepsStates(named rule: String) -> Bool { engine.keepsStates(named: rule) }

    func beginGroup(_ group: IngestGroup) { moment = .now() }

    func willWrite(
        _ stream: SensorStream, of device: Int64, _ address: DeviceAddress, newest: () throws -> Int64?
    ) throws {
        let number = Int(device)
        forgotten.remove(number)
        if prepared[number]?.contains(stream) == true { return }
        if !engine.knows(number) { engine.add(address, number: number, at: moment) }
        if engine.needsNewest(of: stream, device: number) {
            engine.setNewest(try newest() ?? .min, of: stream, device: number)
        }
        prepared[number, default: []].insert(stream)
    }

    func didWrite(_ rows: Range<Int>, of run: SampleRun, device: Int64) {
        guard !rows.isEmpty else { return }
        let batch = run.batch(of: rows.upperBound - 1)
        let arrival = RuleEngine.Arrival(at: batch.receivedAt, boot: moment.boot, isLive: batch.isLive)
        engine.samples(run.samples, rows: rows, of: Int(device), arrival: arrival, into: &events)
    }

    func didChange(_ transition: LifecycleTransition, of device: Int64, _ address: DeviceAddress) {
        forgotten.remove(Int(device))
        if !engine.knows(Int(device)) { engine.add(address, number: Int(device), at: moment) }
        engine.transition(transition, of: Int(device), at: .now(), into: &events)
    }

    func didUpdate(_ device: Int64, _ address: DeviceAddress, isForgotten: Bool) {
        let number = Int(device)
        if isForgotten {
            forgotten.insert(number)
        } else {
            forgotten.remove(number)
            if !engine.knows(number) { engine.add(address, number: number, at: moment) }
        }
    }

    func tick(_ tick: IngestGroup.Tick, health: () throws -> [DeliveryFigures]) throws {
        engine.tick(at: tick.moment, listeningSince: tick.listeningSince, into: &events)
        let needs = engine.needsHealth
        if needs.delivery, tick.moment.boot >= nextDelivery {
            nextDelivery = tick.moment.boot + Self.deliveryInterval
            for figures in try health() where engine.knows(Int(figures.device)) {
                engine.delivery(
                    missing: figures.missing, dropped: figures.dropped, of: Int(figures.device), at: tick.moment,
                    into: &events)
            }
        }
        if needs.disk, tick.moment.boot >= nextDisk {
            nextDisk = tick.moment.boot + Self.diskInterval
            var status = statvfs()
            if statvfs(folder, &status) == 0, status.f_blocks > 0 {
                engine.disk(
                    free: Double(status.f_bavail) / Double(status.f_blocks), at: tick.moment, into: &events)
            }
        }
    }

    func takeOutcome() -> ObservedOutcome {
        var outcome = ObservedOutcome()
        outcome.events = events
        events.removeAll(keepingCapacity: true)
        let encoder = JSONEncoder()
        for change in engine.changes {
            guard let json = try? encoder.encode(change.slot) else { continue }
            outcome.states.append(
                ObserverState(rule: change.rule, device: change.device, json: String(decoding: json, as: UTF8.self)))
        }
        return outcome
    }

    func didCommit() {
        engine.commit()
        for number in forgotten {
            engine.remove(number)
            prepared[number] = nil
        }
        forgotten.removeAll()
    }

    func didRollBack() {
        engine.rollBack()
        forgotten.removeAll()
        events.removeAll(keepingCapacity: true)
        prepared.removeAll()
        (nextDelivery, nextDisk) = (0, 0)
    }

    private static func states(_ store: any SampleStore) throws -> [RuleEngine.Change] {
        let decoder = JSONDecoder()
        return try store.observerStates().compactMap { state in
            guard let slot = try? decoder.decode(RuleSlot.self, from: Data(state.json.utf8)) else { return nil }
            return RuleEngine.Change(rule: state.rule, device: state.device, slot: slot)
        }
    }
}
