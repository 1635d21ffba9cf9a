import LockstepModel

extension MetricsWriter {
    /// Writes how many devices are in each state. Unlike the metrics of single devices, it always covers all of them.
    mutating func write(states devices: [MetricsSnapshot.Device]) {
        var counts: [LifecycleState?: Int] = [:]
        for device in devices { counts[device.state, default: 0] += 1 }
        metric("lockstep_devices", .gauge, "Devices in each life-cycle state.") {
            for state in LifecycleState.allCases { $0.count(counts[state] ?? 0, [("state", state.rawValue)]) }
            $0.count(counts[nil] ?? 0, [("state", "unknown")])
        }
    }

    /// Writes the metrics of single devices.
    mutating func write(devices: ArraySlice<MetricsSnapshot.Device>, at now: Timestamp) {
        metric("lockstep_device_state", .gauge, "1 for the present life-cycle state of a device, 0 for the others.") {
            for device in devices {
                guard let present = device.state else { continue }
                for state in LifecycleState.allCases {
                    $0.flag(state == present, device.labels + [("state", state.rawValue)])
                }
            }
        }
        value("lockstep_device_state_changed_timestamp_seconds", .gauge, "Last change of the state.", of: devices) {
            $0.since?.seconds
        }
        value("lockstep_device_last_sample_age_seconds", .gauge, "Age of the newest sample.", of: devices) {
            $0.sampleAge(at: now)
        }
        metric("lockstep_device_sample_rate_hertz", .gauge, "Measured rate of a stream.") {
            for device in devices {
                for (stream, rate) in device.rates.sorted(by: { $0.key < $1.key }).prefix(MetricsText.streamLimit) {
                    $0.sample(rate, device.labels + [("stream", stream)])
                }
            }
        }
        metric("lockstep_metrics_streams_omitted", .gauge, "Streams without a rate: beyond 32 of a device.") {
            $0.count(devices.reduce(0) { $0 + max(0, $1.rates.count - MetricsText.streamLimit) })
        }
        count("lockstep_device_samples_stored_total", .counter, "Stored samples.", of: devices) { $0.samples }
        count(
            "lockstep_device_samples_duplicate_total", .counter, "Samples received again with the same values.",
            of: devices
        ) { $0.duplicates }
        count(
            "lockstep_device_samples_conflicting_total", .counter, "Samples received again with different values.",
            of: devices
        ) { $0.conflicts }
        count(
            "lockstep_device_batches_missing", .gauge, "Batches that are not stored and that the device no longer has.",
            of: devices
        ) { $0.missingBatches }
        count(
            "lockstep_device_batches_on_their_way", .gauge,
            "Batches that are not stored, though later ones are, and that the device still has.", of: devices
        ) { $0.batchesOnTheirWay }
        count("lockstep_device_batches_dropped_total", .counter, "Batches that the agent dropped.", of: devices) {
            $0.droppedBatches
        }
        count("lockstep_device_samples_dropped_total", .counter, "Samples that the agent dropped.", of: devices) {
            $0.droppedSamples
        }
        value("lockstep_device_battery_level_ratio", .gauge, "Charge of the battery, 1 is full.", of: devices) {
            $0.batteryLevel
        }
        metric("lockstep_device_battery_charging", .gauge, "1 if the battery is being charged, otherwise 0.") {
            for device in devices { $0.flag(device.isCharging, device.labels) }
        }
        metric("lockstep_device_clock_offset_seconds", .gauge, "Time of a device minus the time of a collector.") {
            for device in devices {
                for (collector, offset) in device.clockOffsets.sorted(by: { $0.key < $1.key }) {
                    $0.sample(offset, device.labels + [("collector", collector)])
                }
            }
        }
        certificates("device", devices.map { ($0.labels, $0.certificates) })
    }

    private mutating func value(
        _ name: String, _ kind: Kind, _ help: String, of devices: ArraySlice<MetricsSnapshot.Device>,
        _ value: (MetricsSnapshot.Device) -> Double?
    ) {
        metric(name, kind, help) { for device in devices { $0.sample(value(device), device.labels) } }
    }

    private mutating func count(
        _ name: String, _ kind: Kind, _ help: String, of devices: ArraySlice<MetricsSnapshot.Device>,
        _ value: (MetricsSnapshot.Device) -> Int64?
    ) {
        metric(name, kind, help) { for device in devices { $0.count(value(device), device.labels) } }
    }
}

extension MetricsSnapshot.Device {
    /// The time by which a clock may be ahead so that a sample counts as new, in µs.
    private static let maxClockError: Int64 = 5_000_000

    /// Returns the age of the newest sample in s.
    ///
    /// If its time is in the future, its age is unknown. The time since samples have arrived then shows a silent device.
    fileprivate func sampleAge(at now: Timestamp) -> Double? {
        guard let lastSample else { return nil }
        let age = now - lastSample
        guard age < -Self.maxClockError else { return Double(max(0, age)) / 1_000_000 }
        return arrived.map { Double(max(0, now - $0)) / 1_000_000 }
    }

    fileprivate var labels: MetricsWriter.Labels {
        [("group", address.group.rawValue), ("device", address.device.rawValue)]
    }
}
