// A short example of each manager, as in the documentation. The examples run on simulated sensors.
import LockstepDevice
import LockstepModel
import LockstepMotion
import LockstepSensors
import LockstepStore
import Testing

@Suite("Library examples")
struct Examples {
    private func hub() throws -> SensorHub { SensorHub(sources: [try SensorSources.make("simulate:7")]) }

    @Test("motion as a sequence and as the latest value")
    func motion() async throws {
        let hub = try hub()

        let manager = MotionManager(hub: hub)
        manager.deviceMotionUpdateInterval = 0.1
        for try await motion in manager.deviceMotionUpdates(using: .magneticNorth) {
            print("heading \(motion.heading ?? 0) rad, user acceleration \(motion.userAcceleration) g")
            break
        }
        manager.startGyroUpdates()
        try await wait { manager.gyroData != nil }
        print(manager.gyroData?.rotationRate ?? [0, 0, 0], "rad/s")
        manager.stopGyroUpdates()

        #expect(manager.gyroData != nil)
    }

    @Test("steps are counted from now on")
    func steps() async throws {
        let hub = try hub()

        let pedometer = Pedometer(hub: hub)
        for try await walked in pedometer.updates(from: Moment.now().wall) {
            print("\(walked.numberOfSteps) steps, \(walked.distance ?? 0) m, \(walked.currentCadence ?? 0) steps/s")
            #expect(walked.numberOfSteps > 0)
            break
        }
    }

    @Test("past steps are read from a store")
    func past() throws {
        let device = DeviceAddress(group: .standard, device: try DeviceID(validating: "arm-left"))
        let noon = Moment.now().wall
        let morning = noon - 6 * 3_600_000_000

        let pedometer = Pedometer(hub: try hub(), history: StoreHistory(path: "samples.db", device: device))
        do {
            print(try pedometer.data(from: morning, to: noon).numberOfSteps, "steps this morning")
        } catch let error as StoreError {
            #expect("\(error)".hasPrefix("there is no store at samples.db"))
        }
    }

    @Test("location with the distance from the previous one")
    func location() async throws {
        let hub = try hub()

        let manager = LocationManager(hub: hub)
        manager.distanceFilter = 0.01
        updates: for try await update in manager.locationUpdates() {
            switch update {
            case .location(let current, let previous):
                let moved = previous.map { current.coordinate.distance(to: $0.coordinate) } ?? 0
                print("\(current.coordinate), \(moved) m on, accurate to \(current.horizontalAccuracy ?? 0) m")
                if previous != nil { break updates }
            case .failed(let error):
                print(error)
            }
        }
        print(try await manager.requestLocation())
    }
}
