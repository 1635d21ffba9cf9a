import LockstepLive
import LockstepModel

extension MetricsWriter {
    /// Writes how many devices are in each state. Unlike the metrics of single devices, it always covers all of them.
    mutating func write(states devices: [LiveDevice]) {
        var counts: [LifecycleState?: Int] = [:]
        for device in devices { counts[device.transition?.to, default: 0] += 1 }
        metric("lockstep_devices", "Devices in each life-cycle state.") {
            for state in LifecycleState.allCases { $0.count(counts[state] ?? 0, [("state", state.rawValue)]) }
            $0.count(counts[nil] ?? 0, [("state", "unknown")])
        }
    }

    /// Writes the metrics of single devices.
    mutating func write(devices: ArraySlice<LiveDevice>, of live: LiveDevices, at moment: Moment) {
        let devices: [Labelled<LiveDevice>] = devices.map { device in
            ([("group", device.address.group.rawValue), ("device", device.address.device.rawValue)], device)
        }
        metric("lockstep_device_state", "1 for the present life-cycle state of a device, 0 for the others.") {
            for (labels, device) in devices {
                guard let present = device.transition?.to else { continue }
                for state in LifecycleState.allCases {
                    $0.flag(state == present, labels + [("state", state.rawValue)])
                }
            }
        }
        value("lockstep_device_state_changed_timestamp_seconds", "Last change of the state.", of: devices) {
            $0.transition?.since.seconds
        }
        value("lockstep_device_last_sample_age_seconds", "Age of the newest sample.", of: devices) {
            $0.sampleAge(at: moment.wall)
        }
        metric("lockstep_device_sample_rate_hertz", "Measured rate of a stream.") {
            for (labels, device) in devices {
                let streams = device.streams.sorted { $0.stream.name < $1.stream.name }
                for stream in streams.prefix(MetricsText.streamLimit) {
                    let rate = live.rate(of: stream, of: device, at: moment.boot)
                    $0.sample(rate, labels + [("stream", stream.stream.name)])
                }
            }
        }
        metric("lockstep_metrics_streams_omitted", "Streams without a rate: beyond 32 of a device.") {
            $0.count(devices.reduce(0) { $0 + max(0, $1.source.streams.count - MetricsText.streamLimit) })
        }
        // Without samples that were received since: some are never stored, and a counter must not decrease.
        let stored: [Labelled<StoredCounters>] = devices.map { ($0.labels, $0.source.counters ?? StoredCounters()) }
        counts(
            of: stored,
            ("lockstep_device_samples_stored_total", "Stored samples.", { Int($0.samples) }),
            (
                "lockstep_device_samples_duplicate_total", "Samples received again with the same values.",
                { Int($0.duplicates) }
            ),
            (
                "lockstep_device_samples_conflicting_total", "Samples received again with different values.",
                { Int($0.conflicts) }
            ),
            (
                "lockstep_device_batches_missing", "Batches that are not stored and that the device no longer has.",
                { Int($0.missing) }
            ),
            (
                "lockstep_device_batches_on_their_way",
                "Batches that are not stored, though later ones are, and that the device still has.",
                { Int($0.onItsWay) }
            ))
        counts(
            of: devices,
            ("lockstep_device_batches_dropped_total", "Batches that the agent dropped.", { Int($0.droppedBatches) }),
            ("lockstep_device_samples_dropped_total", "Samples that the agent dropped.", { Int($0.droppedSamples) }))
        value("lockstep_device_battery_level_ratio", "Charge of the battery, 1 is full.", of: devices) {
            $0.battery?.level
        }
        metric("lockstep_device_battery_charging", "1 if the battery is being charged, otherwise 0.") {
            for (labels, device) in devices { $0.flag(device.battery?.isCharging, labels) }
        }
        metric("lockstep_device_clock_offset_seconds", "Time of a device minus the time of a collector.") {
            for (labels, device) in devices {
                // Any client may report several points of one collector.
                let offsets = Dictionary(
                    (device.clock?.points ?? []).map { ($0.collector.rawValue, Double($0.offset) / 1e6) }
                ) { $1 }
                for (collector, offset) in offsets.sorted(by: { $0.key < $1.key }) {
                    $0.sample(offset, labels + [("collector", collector)])
                }
            }
        }
        certificates("device", of: devices) { $0.presence?.certificates ?? [:] }
    }
}

extension LiveDevice {
    /// The time by which a clock may be ahead so that a sample counts as new, in µs.
    private static let maxClockError: Int64 = 5_000_000

    /// Returns the age of the newest sample in s.
    ///
    /// If its time is in the future, its age is unknown. The time since samples have arrived then shows a silent device.
    fileprivate func sampleAge(at now: Timestamp) -> Double? {
        guard let newest else { return nil }
        let age = now - newest
        guard age < -Self.maxClockError else { return Double(max(0, age)) / 1_000_000 }
        return arrived.map { Double(max(0, now - $0)) / 1_000_000 }
    }
}
