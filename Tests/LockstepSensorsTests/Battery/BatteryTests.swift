import FoundationEssentials
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

/// A fake of the power supply class of sysfs, in a temporary folder.
private struct FakePowerSupplies {
    let folder: String
    var tree: PowerSupplyTree { PowerSupplyTree(sysfsRoot: folder) }

    func set(_ supply: String, _ attributes: [String: String]) throws {
        let path = "\(folder)/class/power_supply/\(supply)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for (name, text) in attributes {
            try (text + "\n").write(toFile: "\(path)/\(name)", atomically: true, encoding: .utf8)
        }
    }

    func remove(_ supply: String) throws {
        try FileManager.default.removeItem(atPath: "\(folder)/class/power_supply/\(supply)")
    }
}

private func withPowerSupplies<Result>(_ body: (FakePowerSupplies) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.path + "/lockstep-power-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(FakePowerSupplies(folder: folder))
}

@Suite("Batteries in sysfs")
struct PowerSupplyTests {
    @Test(
        "the state follows the kernel's status",
        arguments: [
            ("Charging", BatteryReading.State.charging), ("Discharging", .discharging), ("Full", .full),
            ("Not charging", .notCharging), ("Unknown", .unknown), ("", .unknown),
        ])
    func states(status: String, state: BatteryReading.State) async throws {
        try await withPowerSupplies { supplies in
            try supplies.set("BAT0", ["type": "Battery", "capacity": "42", "status": status])
            #expect(supplies.tree.read() == BatteryReading(level: 0.42, state: state))
        }
    }

    @Test("the choices of the state column are the names of the states, in the same order")
    func words() {
        #expect(
            SensorStream.battery.columns[1].kind
                == .choice(BatteryReading.State.allCases.map { "\($0)" }))
    }

    @Test("without a capacity the level is computed from energy or charge, or is unknown")
    func levels() async throws {
        try await withPowerSupplies { supplies in
            try supplies.set(
                "BAT0", ["type": "Battery", "status": "Full", "energy_now": "30000000", "energy_full": "40000000"])
            #expect(supplies.tree.read()?.level == 0.75)
            try supplies.remove("BAT0")
            try supplies.set("BAT1", ["type": "Battery", "charge_now": "1000000", "charge_full": "4000000"])
            #expect(supplies.tree.read()?.level == 0.25)
            try supplies.remove("BAT1")
            try supplies.set("BAT2", ["type": "Battery", "status": "Discharging"])
            #expect(supplies.tree.read() == BatteryReading(level: nil, state: .discharging))
        }
    }

    @Test("chargers, batteries of peripherals and absent batteries are ignored")
    func ignored() async throws {
        try await withPowerSupplies { supplies in
            #expect(supplies.tree.read() == nil)
            try supplies.set("AC", ["type": "Mains", "online": "1"])
            try supplies.set("mouse", ["type": "Battery", "scope": "Device", "capacity": "5"])
            try supplies.set("BAT1", ["type": "Battery", "present": "0", "capacity": "0"])
            #expect(supplies.tree.read() == nil)
        }
    }

    @Test("several batteries are weighted by capacity, and a charging one determines the state")
    func several() async throws {
        try await withPowerSupplies { supplies in
            try supplies.set(
                "BAT0", ["type": "Battery", "capacity": "100", "status": "Full", "energy_full": "10000000"])
            try supplies.set(
                "BAT1", ["type": "Battery", "capacity": "20", "status": "Charging", "energy_full": "30000000"])
            #expect(supplies.tree.read() == BatteryReading(level: 0.4, state: .charging))
        }
    }
}

@Suite("The battery source")
struct BatterySourceTests {
    @Test("a change of one percent or of the state is a sample, and an unchanged reading after five minutes")
    func changes() {
        var changes = BatteryChanges()
        let minute: Int64 = 60_000_000
        func sample(_ level: Double?, _ state: BatteryReading.State, _ time: Int64) -> Bool {
            changes.isSample(BatteryReading(level: level, state: state), at: time)
        }
        #expect(
            [
                sample(0.5, .discharging, 0), sample(0.495, .discharging, minute), sample(0.49, .discharging, minute),
                sample(0.49, .charging, minute), sample(nil, .charging, minute), sample(nil, .charging, 2 * minute),
                sample(0.5, .charging, 2 * minute), sample(0.5, .charging, 7 * minute - 1),
                sample(0.5, .charging, 7 * minute),
            ] == [true, false, true, true, true, false, true, false, true])
    }

    @Test("changes become samples, and a missing battery is reported until it returns")
    func source() async throws {
        try await withPowerSupplies { supplies in
            try supplies.set("BAT0", ["type": "Battery", "capacity": "80", "status": "Discharging"])
            let source = BatterySource(sysfsRoot: supplies.folder, period: 5000)
            #expect(source.sensors().map(\.name) == ["BAT0"])
            try await withRunning(source) { sink in
                #expect(await sink.wait { $0.samples(.battery).columns == [[0.8], [2]] })
                #expect(sink.seen.clocks == [.boot])
                try supplies.set("BAT0", ["capacity": "79"])
                #expect(await sink.wait { $0.samples(.battery).columns == [[0.8, 0.79], [2, 2]] })
                try supplies.remove("BAT0")
                let missing = SourceStatus.unavailable(
                    "there is no battery in \(supplies.folder)/class/power_supply; connect one, or leave out "
                        + "--source battery")
                #expect(await sink.wait { $0.statuses == [.running, missing] })
                try supplies.set("BAT0", ["type": "Battery", "capacity": "79", "status": "Charging"])
                #expect(await sink.wait { $0.statuses.last == .running && $0.samples(.battery).count >= 3 })
            }
            try supplies.remove("BAT0")
            #expect(source.sensors().map { $0.problem != nil } == [true])
        }
    }

    @Test("batteries are not read while they are not requested")
    func idle() async throws {
        try await withPowerSupplies { supplies in
            try supplies.set("BAT0", ["type": "Battery", "capacity": "80", "status": "Discharging"])
            let source = BatterySource(sysfsRoot: supplies.folder, period: 5000)
            source.setRates([:])
            try await withRunning(source) { sink in
                try supplies.set("BAT0", ["capacity": "10"])
                source.setRates([.battery: .infinity])
                #expect(await sink.wait { $0.samples(.battery).columns == [[0.1], [2]] })
            }
        }
    }
}
