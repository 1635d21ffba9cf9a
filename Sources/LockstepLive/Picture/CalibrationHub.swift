import LockstepModel
import LockstepMotion
import LockstepWire

/// Guides subscribers through the calibration of devices, one for each device.
struct CalibrationHub {
    /// The time in which a device must be laid in a new position, in µs.
    static let patience: Int64 = 180_000_000

    private struct Run {
        let subscriber: Subscriber
        /// The calibration that the agent applies.
        let replaced: InertialCalibration?
        var guide: CalibrationGuide
        /// The note on the last position.
        var note: String?
        /// The data of the last event.
        var sent: [UInt8] = []

        /// Returns the data of an event `step`.
        func step() -> [UInt8] {
            var object = JSONObjectWriter()
            object.member("positions", guide.positions) { writer, position in
                writer.object {
                    $0.member("text", position.instruction)
                    $0.member("done", position.isDone)
                }
            }
            object.member("next", orNull: guide.next)
            object.member("still", guide.isStill)
            object.member("note", orNull: note)
            return object.finish()
        }
    }

    private var runs: [DeviceAddress: Run] = [:]

    func contains(_ device: DeviceAddress) -> Bool { runs[device] != nil }

    /// Adds the subscriber of a device.
    /// - Returns: its first event.
    mutating func add(
        _ subscriber: Subscriber, of device: DeviceAddress, hasGyroscope: Bool, replaced: InertialCalibration?,
        at boot: Int64
    ) -> [UInt8] {
        let guide = CalibrationGuide(hasGyroscope: hasGyroscope, replaced: replaced, at: boot)
        var run = Run(subscriber: subscriber, replaced: replaced, guide: guide)
        run.sent = run.step()
        runs[device] = run
        return EventBytes.event("step", data: run.sent)
    }

    /// Adds samples, and ends the guidance after the last position.
    /// - Parameters:
    ///   - presence: the last one of the device.
    ///   - touched: receives the subscriber if it must be notified.
    mutating func add(
        _ batch: LiveBatch, _ presence: Presence?, at moment: Moment, touched: inout [Subscriber]
    ) {
        let samples = batch.batch.samples
        // What is sent later than it was measured does not show where the device is now.
        guard batch.batch.isLive, [.accelerometer, .gyroscope].contains(samples.stream),
            var run = runs[batch.address]
        else { return }
        // Samples that were calibrated in different ways have no common error. A last will has no calibration.
        if let presence, presence.phase != .lost, presence.calibration != run.replaced {
            return end(batch.address, "the calibration of the device was changed meanwhile")
        }
        do throws(InertialCalibrationError) {
            run.note = try run.guide.add(samples, at: moment.boot).last ?? run.note
            let step = run.step()
            var events = step == run.sent ? [] : [EventBytes.event("step", data: step)]
            run.sent = step
            runs[batch.address] = run
            if run.guide.calibrator.isComplete {
                let calibration = try run.guide.calibrator.calibration(at: moment.wall)
                events.append(EventBytes.event("result", data: CalibrationJSON.encode(calibration)))
                runs[batch.address] = nil
            }
            for event in events where run.subscriber.add(event) { touched.append(run.subscriber) }
        } catch { end(batch.address, "\(error)") }
    }

    /// Ends the guidance of devices that send nothing or are not moved.
    mutating func advance(to boot: Int64) {
        for (device, run) in runs {
            if let problem = run.guide.problem(at: boot, patience: Self.patience) { end(device, problem) }
        }
    }

    private mutating func end(_ device: DeviceAddress, _ reason: String) {
        runs.removeValue(forKey: device)?.subscriber.end(reason)
    }

    /// Removes a subscriber, if it is one of this hub.
    mutating func remove(_ id: Int) {
        if let device = runs.first(where: { $0.value.subscriber.id == id })?.key { runs[device] = nil }
    }
}
