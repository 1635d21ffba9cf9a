import LockstepModel
import LockstepMotion
import LockstepWire

/// Guides subscribers through the calibration of devices, one for each device.
package struct CalibrationHub {
    /// The time in which a device must be laid in a new position, in µs.
    package static let patience: Int64 = 180_000_000

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
    /// - Parameter touched: receives the subscriber if it must be notified.
    mutating func add(_ batch: LiveBatch, at moment: Moment, touched: inout [Subscriber]) {
        let samples = batch.batch.samples
        // What is sent later than it was measured does not show where the device is now.
        guard var run = runs[batch.address], batch.batch.isLive,
            [.accelerometer, .gyroscope].contains(samples.stream)
        else { return }
        do throws(InertialCalibrationError) {
            run.note = try run.guide.add(samples, at: moment.boot).last ?? run.note
            let step = run.step()
            let event = EventBytes.event("step", data: step)
            if run.guide.calibrator.isComplete {
                let calibration = try run.guide.calibrator.calibration(at: moment.wall)
                runs[batch.address] = nil
                let result = EventBytes.event("result", data: CalibrationJSON.encode(calibration))
                return run.subscriber.complete(with: [event, result])
            }
            if step != run.sent, run.subscriber.add(event) { touched.append(run.subscriber) }
            run.sent = step
            runs[batch.address] = run
        } catch { end(batch.address, "\(error)") }
    }

    /// Adds a presence that was sent after the start. The last one before it may lack a change of the calibration.
    mutating func add(_ presence: Presence, of device: DeviceAddress) {
        // Samples that were calibrated in different ways have no common error. A last will has no calibration.
        guard let run = runs[device], presence.phase != .lost, presence.calibration != run.replaced else { return }
        end(device, "the calibration of the device was changed meanwhile")
    }

    /// Ends the guidance of devices that send nothing or are not moved.
    /// - Parameter connectionProblem: why no samples can arrive; nil if they can.
    mutating func advance(to boot: Int64, connectionProblem: String?) {
        for device in runs.keys {
            let problem = runs[device]?.guide.problem(
                at: boot, patience: Self.patience, isConnected: connectionProblem == nil)
            if let problem { end(device, connectionProblem ?? problem) }
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
