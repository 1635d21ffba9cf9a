// The Swift examples of docs/library.md and of the documentation catalogs. A test compares each `// EXAMPLE name` region
// with the code block ```swift name on those pages; that this file compiles shows that the examples do.

import LockstepAgent
import LockstepCollector
import LockstepDevice
import LockstepLive
import LockstepMQTT
import LockstepModel
import LockstepMotion
import LockstepSensors
import LockstepStore
import LockstepWire
import Logging

enum LibraryExamples {
    static func hub() throws -> SensorHub {
        // EXAMPLE hub
        let hub = SensorHub(sources: [try SensorSources.make("iio"), try SensorSources.make("gpsd")])
        // END
        return hub
    }

    static func motion(_ hub: SensorHub) async throws {
        // EXAMPLE motion
        let manager = MotionManager(hub: hub)
        manager.deviceMotionUpdateInterval = 0.1  // s
        for try await motion in manager.deviceMotionUpdates(using: .magneticNorth) {  // push: ends with the loop
            print(motion.attitude.roll, motion.attitude.pitch, motion.heading ?? 0)  // rad
        }

        manager.startGyroUpdates()  // pull: until stopGyroUpdates()
        print(manager.gyroData?.rotationRate ?? [0, 0, 0])  // rad/s
        // END
    }

    static func gestures(_ hub: SensorHub) async throws {
        // EXAMPLE gestures
        let manager = MotionManager(hub: hub)
        Task {
            for try await shake in manager.shakes() { print("shaken with", shake.strength) }  // g
        }
        Task {
            for try await orientation in manager.orientations() { print(orientation) }  // portrait, faceUp, …
        }
        Task {
            for try await fall in manager.falls() { print("fallen, with an impact of", fall.strength) }  // g
        }
        // END
    }

    static func pedometer(
        _ hub: SensorHub, device: DeviceAddress, morning: Timestamp, noon: Timestamp
    ) async throws {
        // EXAMPLE pedometer
        let history = StoreHistory(path: "samples.db", device: device)  // or OutboxHistory of this agent
        let pedometer = Pedometer(hub: hub, history: history)
        print(try pedometer.data(from: morning, to: noon).numberOfSteps)
        for try await data in pedometer.updates(from: morning) {
            print(data.numberOfSteps, data.distance ?? 0, data.floorsAscended ?? 0)  // m, floors
        }
        // END
    }

    static func location(_ hub: SensorHub) async throws {
        // EXAMPLE location
        let manager = LocationManager(hub: hub)
        manager.desiredAccuracy = 20  // m
        for try await update in manager.locationUpdates() {
            switch update {
            case .location(let current, let previous): print(current.coordinate, previous?.coordinate as Any)
            case .failed(let error): print(error)  // denied, locationUnknown, network
            }
        }
        // END
    }

    static func altimeter(_ hub: SensorHub) async throws {
        // EXAMPLE altimeter
        let altimeter = Altimeter(hub: hub)
        for try await data in altimeter.relativeAltitudeUpdates() {
            print(data.relativeAltitude, data.pressure ?? 0)  // m, hPa
        }
        // END
    }

    static func heading(_ hub: SensorHub) async throws {
        // EXAMPLE heading
        let manager = LocationManager(hub: hub)
        for try await heading in manager.headingUpdates() {
            print(heading.magneticHeading, heading.trueHeading ?? 0)  // degrees
        }
        // END
    }

    static func filters(_ samples: SampleBlock) {
        // EXAMPLE filters
        var filter = LowPassFilter(cutOff: 5)  // Hz
        var detector = ShakeDetector()
        for (index, time) in samples.times.enumerated() {
            let values = samples.values(at: index)
            print(filter.update([values[0], values[1], values[2]], time: time))  // g
            if let shake = detector.update(time: time, x: values[0], y: values[1], z: values[2]) {
                print("shake of strength", shake.strength)
            }
        }
        // END
    }

    static func estimator(_ samples: SampleBlock) {
        // EXAMPLE estimator
        var estimator = DeviceMotionEstimator(sensors: [.accelerometer, .gyroscope])
        for motion in estimator.update(samples) {
            print(motion.attitude.roll, motion.userAcceleration)  // rad, g
        }
        // END
    }

    static func samples() {
        // EXAMPLE samples
        var samples = SampleBlock(stream: .accelerometer)
        samples.append(time: Moment.now().wall, values: [0, 0, -1])
        for column in samples.stream.columns { print(column.name, column.unit) }  // x g, y g, z g

        let received = SequenceSet([1...40, 42...60])
        print(received.watermark, received.gaps)  // 40 41
        // END
    }

    static func batch() throws {
        // EXAMPLE batch
        var samples = SampleBlock(stream: .accelerometer)
        samples.append(time: Timestamp(microseconds: 1_700_000_000_000_000), values: [0, 0, -1])
        let position = BatchPosition(epoch: .random(), seq: 1)
        let payload = BatchCBOR.encode(Batch(position: position, samples: samples))
        let topic = TopicRoot.standard.topic(
            DeviceAddress(group: .standard, device: try DeviceID(validating: "left")), .stream(.accelerometer))
        print(topic, payload.count, "bytes")
        // END
    }

    static func store() throws {
        // EXAMPLE store
        let reader = try StoreReader(path: "samples.db")
        for device in try reader.devices() { print(device.address, device.samples, "samples") }
        try reader.query(stream: .location) { row in
            print(row.device, row.time, row.values[0], row.values[1])  // °, °
        }
        // END
    }

    static func agent() async throws {
        // EXAMPLE agent
        let address = DeviceAddress(group: .standard, device: try DeviceID(validating: "left"))
        let configuration = AgentConfiguration(
            address: address, broker: try BrokerAddress("mqtt://localhost"),
            sources: [try SensorSources.make("simulate:1")], outboxPath: "left.outbox")
        let agent = Agent(configuration, logger: Logger(label: "agent"))
        try await agent.run()  // until its task is cancelled, or in a ServiceGroup
        // END
    }

    static func collector() async throws {
        // EXAMPLE collector
        let configuration = CollectorConfiguration(
            id: try CollectorID(validating: "main"), broker: try BrokerAddress("mqtt://localhost"))
        let collector = Collector(configuration, logger: Logger(label: "collector")) {
            try SQLiteStore(path: "samples.db")
        }
        async let running: Void = collector.run()
        for await change in collector.transitions {
            print(change.device, change.transition.to)  // lab/left background
        }
        try await running
        // END
    }

    static func session() async throws {
        // EXAMPLE session
        let configuration = FeedConfiguration(broker: try BrokerAddress("mqtt://localhost"), clientID: "experiment-7")
        let feed = LiveFeed(configuration, logger: Logger(label: "experiment"))
        async let running: Void = feed.run()  // until stop()
        let recorder = SessionRecorder(feed)
        let walk = try await recorder.start("walk 3") { session in
            session.rates["motion/accelerometer"] = 200  // samples per second
            session.labels["subject"] = "7"
        }
        for await state in recorder.updates(of: walk.key) where ![.preparing, .armed].contains(state.state) { break }
        try await recorder.mark("turn", in: walk.key)
        let result = try await recorder.stop(walk.key)
        print(result.state, result.devices.mapValues(\.missing))  // complete, or incomplete with missing batches
        feed.stop()
        await running
        // END
    }

    static func link() throws {
        // EXAMPLE link
        let address = try BrokerAddress("mqtt://localhost")
        let link = BrokerLink(wakeup: Wakeup(), version: nil) { version in
            MQTTOptions(address: address, clientID: "example", version: version)
        }
        link.onMessage = { message in print(message.topic, message.payload.count, "bytes") }
        while true {
            link.wait(until: .now + .seconds(1))
            for case .connected in link.read() { try link.subscribe(to: "lockstep/#", qos: .atLeastOnce) }
            _ = link.write()  // sends the acknowledgements
        }
        // END
    }
}

// EXAMPLE source
/// A sensor of your own, at 50 samples a second.
struct MySource: SensorSource {
    let name = "my-sensor"
    let streams = [SensorStream.accelerometer]

    func run(into sink: any SampleSink) async throws {
        sink.report(.running, from: name)
        while true {
            try await Task.sleep(for: .milliseconds(20))
            var samples = SampleBlock(stream: .accelerometer)
            samples.append(time: Timestamp(microseconds: Moment.now().boot), values: [0, 0, -1])
            await sink.accept(samples, clock: .boot)
        }
    }
}
// END
