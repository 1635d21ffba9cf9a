import LockstepModel

extension LiveDevices {
    mutating func add(_ batch: Batch, of key: StreamKey, at moment: Moment) {
        let samples = batch.samples
        let window = options.rateWindow
        entries[key.device].isForgotten = false
        entries[key.device].firstArrivalAt = entries[key.device].firstArrivalAt ?? moment.boot
        entries[key.device].arrived = moment.wall
        entries[key.device].received += Int64(samples.count)
        entries[key.device].note(samples)
        if batch.isLive {
            entries[key.device].lastArrivalAt = moment.boot
            entries[key.device].streams[key.stream].hasArrived = true
            entries[key.device].streams[key.stream].arrivals.add(samples.times, at: moment.boot, window: window)
            keep(samples, of: key, at: moment.boot)
        } else {
            entries[key.device].backlog.add(samples.times, at: moment.boot, window: window)
        }
        touch(key.device)
    }

    /// Keeps a batch as recent, and removes batches that are too old or exceed the limit of bytes.
    private mutating func keep(_ samples: SampleBlock, of key: StreamKey, at boot: Int64) {
        if limits.recentBytes > 0, !samples.isEmpty {
            entries[key.device].streams[key.stream].recent.append(samples)
            recent.add(samples, of: key, at: boot)
        }
        removeExcess(at: boot)
    }

    /// Removes recent batches that are too old or exceed the limit of bytes.
    mutating func removeExcess(at boot: Int64) {
        while let oldest = recent.removeExcess(at: boot) {
            _ = entries[oldest.device].streams[oldest.stream].recent.removeFirst()
        }
    }

    /// Adds what a store knows, and replaces counters that were added before. It may be called again at any time.
    /// - Returns: the states that were not known before. Devices beyond the limit are left out.
    public mutating func seed(_ seeds: [DeviceSeed]) -> [LiveChange] {
        var changes: [LiveChange] = []
        for seed in seeds where options.selects(seed.address) {
            if seed.isForgotten {
                forget(seed.address)
                continue
            }
            guard let index = try? index(of: seed.address) else { continue }
            if entries[index].isForgotten {
                entries[index].isForgotten = false
                touch(index)
            }
            if entries[index].transition == nil, let transition = seed.transition {
                entries[index].transition = transition
                changes.append(.state(seed.address, transition))
                touch(index)
            }
            if entries[index].counters != seed.counters || entries[index].received != 0 {
                entries[index].counters = seed.counters
                entries[index].received = 0
                touch(index)
            }
            for block in seed.newest {
                _ = entries[index].index(of: block.stream)
                entries[index].note(block)
            }
            if let fix = seed.lastFix { entries[index].note(fix) }
            entries[index].newest = [entries[index].newest, seed.lastSample].compactMap(\.self).max()
        }
        return changes
    }

    /// Removes a device that the store calls forgotten: the deletion of its messages was missed, or the store was read
    /// before. A device whose samples arrive is back, and the store will say so.
    private mutating func forget(_ address: DeviceAddress) {
        guard let index = positions[address], !entries[index].isForgotten, entries[index].lastArrivalAt == nil else {
            return
        }
        entries[index].transition = nil
        entries[index].presence = nil
        entries[index].isForgotten = true
        touch(index)
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
