import LockstepModel

extension LiveDevices {
    /// Adds a batch to its device and stream.
    mutating func add(_ batch: Batch, of key: StreamKey, at moment: Moment) {
        let samples = batch.samples
        let window = options.rateWindow
        devices[key.device].firstArrivalAt = devices[key.device].firstArrivalAt ?? moment.boot
        devices[key.device].received += Int64(samples.count)
        devices[key.device].note(samples)
        if batch.isLive {
            devices[key.device].lastArrivalAt = moment.boot
            devices[key.device].streams[key.stream].hasArrived = true
            devices[key.device].streams[key.stream].arrivals.add(samples.times, at: moment.boot, window: window)
            keep(samples, of: key, at: moment.boot)
        } else {
            devices[key.device].backlog.add(samples.times, at: moment.boot, window: window)
        }
        touch(key.device)
    }

    /// Keeps a batch as recent, and removes batches that are too old or exceed the limit of bytes.
    private mutating func keep(_ samples: SampleBlock, of key: StreamKey, at boot: Int64) {
        if limits.recentBytes > 0, !samples.isEmpty {
            devices[key.device].streams[key.stream].recent.append(samples)
            recent.add(samples, of: key, at: boot)
        }
        removeExcess(at: boot)
    }

    /// Removes recent batches that are too old or exceed the limit of bytes.
    mutating func removeExcess(at boot: Int64) {
        while let oldest = recent.removeExcess(at: boot) {
            _ = devices[oldest.device].streams[oldest.stream].recent.removeFirst()
        }
    }

    /// Adds what a store knows, and replaces counters that were added before. It may be called again at any time.
    /// - Returns: the states that were not known before. Devices beyond the limit are left out.
    public mutating func seed(_ seeds: [DeviceSeed]) -> [LiveChange] {
        var changes: [LiveChange] = []
        for seed in seeds where options.selects(seed.address) {
            guard let index = try? index(of: seed.address) else { continue }
            if devices[index].transition == nil, let transition = seed.transition {
                devices[index].transition = transition
                changes.append(.state(seed.address, transition))
                touch(index)
            }
            if devices[index].counters != seed.counters || devices[index].received != 0 {
                devices[index].counters = seed.counters
                devices[index].received = 0
                touch(index)
            }
            for block in seed.newest {
                _ = devices[index].index(of: block.stream)
                devices[index].note(block)
            }
            if let fix = seed.lastFix { devices[index].note(fix) }
            devices[index].newest = [devices[index].newest, seed.lastSample].compactMap(\.self).max()
        }
        return changes
    }
}

extension LiveDevice {
    /// Records the newest sample of a block, and the battery or position that it contains.
    mutating func note(_ samples: SampleBlock) {
        guard let last = samples.times.last.map(Timestamp.init(microseconds:)) else { return }
        newest = max(newest ?? last, last)
        let index = index(of: samples.stream)
        guard last >= streams[index].newestTime ?? last else { return noteFix(samples) }
        streams[index].newestTime = last
        streams[index].newestValues = samples.values(at: samples.count - 1)
        switch samples.stream {
        case .battery: noteBattery(samples.values(at: samples.count - 1), at: last)
        case .location: noteFix(samples)
        default: break
        }
    }

    private mutating func noteBattery(_ values: [Double], at time: Timestamp) {
        guard values.count == 2, time >= battery?.at ?? time else { return }
        guard case .choice(let words) = SensorStream.battery.columns[1].kind else { return }
        let state = Int(exactly: values[1]).flatMap { words.indices.contains($0) ? words[$0] : nil }
        battery = LiveBattery(
            level: values[0].isNaN ? nil : values[0],
            isCharging: state == nil || state == "unknown" ? nil : state == "charging", at: time)
    }

    /// Records the last fix with a position, if it is newer than the known one.
    private mutating func noteFix(_ samples: SampleBlock) {
        guard samples.stream == .location, let fix = samples.lastFix, fix.at >= position?.at ?? fix.at else { return }
        position = fix
    }
}

extension SampleBlock {
    /// The last sample with a position, of a block of locations.
    fileprivate var lastFix: LivePosition? {
        let names = stream.columns.map(\.name)
        guard let latitude = names.firstIndex(of: "lat"), let longitude = names.firstIndex(of: "lon"),
            let sample = times.indices.last(where: { !columns[latitude][$0].isNaN && !columns[longitude][$0].isNaN })
        else { return nil }
        func value(_ name: String) -> Double? {
            names.firstIndex(of: name).map { columns[$0][sample] }.flatMap { $0.isNaN ? nil : $0 }
        }
        return LivePosition(
            latitude: columns[latitude][sample], longitude: columns[longitude][sample], accuracy: value("hacc"),
            altitude: value("alt"), speed: value("speed"), course: value("course"),
            at: Timestamp(microseconds: times[sample]))
    }
}
