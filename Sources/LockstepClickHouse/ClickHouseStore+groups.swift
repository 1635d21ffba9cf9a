import LockstepModel
import LockstepStore

// Adding groups to the transaction.

/// The columns of `received_states` in the order in which transitions are encoded.
enum StateColumns {
    static let names = ["device_id", "seq", "state", "since", "previous", "reason", "version"]
}

extension ClickHouseStore {
    /// Adds the samples of a group that are not stored yet.
    func addSamples(of group: IngestGroup) throws(StoreError) {
        let lookup = try storedHashes(of: group)
        for run in group.runs {
            let device = try change(run.device)
            let stream = try index(of: run.samples.stream)
            let isObserved = observed[stream]
            if isObserved { try prepareObserver(run, device: device, stream: stream) }
            var new = NewRows(evaluated: ledger.evaluated[devices[device].id]?[run.samples.stream.name] ?? [])
            let key = SeriesKey(device: device, stream: stream)
            var series = transaction.series.removeValue(forKey: key) ?? PendingSeries(newest: newest[key] ?? nil)
            var rows = transaction.samples.removeValue(forKey: stream) ?? SampleRows(run.samples.stream)
            let hashes = hashers[stream].hashes(of: run.samples)
            let stored = lookup[key] ?? [:]
            var counts = IngestResult.Counts()
            let limit = expiry.limits[run.samples.stream.name]?[devices[device].id]
            var begin = run.samples.times.startIndex
            let deleted = deletions(of: run.samples.stream, device: devices[device].id)
            for batch in run.batches {
                // Samples are appended together unless one of them must not be, or is a conflict.
                func append(_ range: Range<Int>, isConflict: Bool = false) {
                    rows.append(
                        device: devices[device].id, run.samples, range, hashes: hashes, receivedAt: batch.receivedAt,
                        isConflict: isConflict)
                    series.append(rows.count - range.count..<rows.count, of: rows)
                }
                for index in begin..<batch.end {
                    let time = run.samples.times[index]
                    if let limit, KeepRules.isExpired(time, before: limit, held: []) {
                        append(begin..<index)
                        begin = index + 1
                        counts.expired += 1
                        continue
                    }
                    if let deletion = deleted.first(where: { $0.times.contains(time) }) {
                        append(begin..<index)
                        begin = index + 1
                        countRefused(deletion)
                        continue
                    }
                    let wasEvaluated = new.resolve(time)
                    if let newest = series.newest, time <= newest {
                        append(begin..<index)
                        begin = index
                        let known = series.hashes(at: time, in: rows) + (stored[time] ?? [])
                        if !known.isEmpty {
                            begin = index + 1
                            if known.contains(hashes[index]) {
                                counts.duplicates += 1
                                continue
                            }
                            counts.conflicts += 1
                            guard storedConflicts + transaction.conflicts < options.conflictLimit else { continue }
                            transaction.conflicts += 1
                            append(index..<index + 1, isConflict: true)
                            continue
                        }
                    } else {
                        series.newest = time
                    }
                    counts.stored += 1
                    if isObserved, !wasEvaluated { new.append(index, time) }
                }
                append(begin..<batch.end)
                begin = batch.end
            }
            recordMinutes(of: run, key)
            transaction.series[key] = series
            transaction.samples[stream] = rows
            transaction.counts[device, default: .init()] += counts
            transaction.devices[device]?.record(run, counts)
            if isObserved { observe(new, of: run, device: device) }
        }
    }

    /// Passes the new rows of a run to the observer.
    private func observe(_ new: NewRows, of run: SampleRun, device: Int) {
        let (id, stream) = (devices[device].id, run.samples.stream.name)
        if !new.resolved.isEmpty { transaction.resolved[id, default: [:]][stream, default: []] += new.resolved }
        for range in new.ranges {
            transaction.evaluated[id, default: [:]][stream, default: []] += run.samples.times[range]
            observer?.didWrite(range, of: run, device: Int64(device))
        }
    }

    /// Adds the received and dropped batch numbers of a group.
    func addNumbers(of group: IngestGroup) throws(StoreError) {
        for run in group.runs {
            for batch in run.batches {
                guard let position = batch.position else { continue }
                let scope = scope(of: run.device, position.epoch)
                var set = transaction.numbers.removeValue(forKey: scope) ?? numbers[scope]
                if let valid = batch.validPosition { set.received.insert(valid.seq) }
                transaction.numbers[scope] = set
            }
        }
        for report in group.dropped {
            _ = try change(report.device)
            let scope = scope(of: report.device, report.epoch)
            var set = transaction.numbers.removeValue(forKey: scope) ?? numbers[scope]
            set.dropped.formUnion(report.ranges)
            transaction.numbers[scope] = set
        }
    }

    /// Adds what devices report about their outboxes, if it is news.
    func addReports(of group: IngestGroup) throws(StoreError) {
        for (key, report) in group.reports {
            guard deviceIndexes[key.device] != nil else { continue }
            let scopes = scopesByDevice[key.device] ?? []
            var stored: [Epoch: EpochReport] = [:]
            for scope in scopes {
                stored[scopeKeys[scope].epoch] = (transaction.numbers[scope] ?? numbers[scope]).report
            }
            let known = { (epoch: Epoch) -> BatchNumbers in
                guard let number = self.scopeNumbers[DeviceEpoch(device: key.device, epoch: epoch)] else {
                    return BatchNumbers()
                }
                return self.transaction.numbers[number] ?? self.numbers[number]
            }
            let isNew = deviceIndexes[key.device].flatMap { recent.epochs(of: Int64($0)) } != nil
            let changes = EpochReport.changes(
                by: report, of: stored, isNew: isNew, epochs: Set(scopes.map { scopeKeys[$0].epoch })
            ) { epoch -> Int64? in
                let isFirst = scopes.allSatisfy { scopeKeys[$0].epoch == epoch }
                return isFirst ? known(epoch).received.first ?? .max : nil
            } known: {
                let numbers = known($0)
                return numbers.received.union(numbers.dropped)
            }
            for (epoch, change) in changes {
                let scope = scope(of: key.device, epoch)
                transaction.numbers[scope, default: numbers[scope]].report = change
            }
        }
    }

    /// Adds the life cycles, transitions, messages, estimates of clocks and rejections of a group.
    func addDevices(of group: IngestGroup) throws(StoreError) {
        for (address, time) in group.seen { transaction.devices[try change(address)]?.recordMessage(at: time) }
        for evidence in group.evidence {
            transaction.devices[try change(evidence.device)]?.lifecycle.evidenceTime = evidence.time
        }
        for (address, snapshot) in group.lifecycles {
            let device = try change(address)
            transaction.devices[device]?.lifecycle = snapshot
            transaction.urgentDevices.insert(device)
        }
        for entry in group.transitions {
            append(entry.transition, of: devices[try change(entry.device)].id, to: &transaction.states)
        }
        for clock in group.clocks { transaction.clocks.append(clock) }
        transaction.sessions += group.sessions
        transaction.splits += group.splits
        for (key, ids) in group.splits {
            transaction.markers.removeAll { $0.session == key && ids.contains($0.marker.id) }
        }
        transaction.markers += group.markers
        let room = options.rejectedLimit - storedRejections - transaction.rejected.count
        for message in group.rejected.prefix(max(0, room)) {
            transaction.rejected.append(message.at.microseconds)
            transaction.rejected.append(message.topic)
            transaction.rejected.append(message.reason)
            transaction.rejected.append(Int64(message.size))
            transaction.rejected.append(Array(message.head.prefix(256)))
            transaction.rejected.endRow()
        }
    }

    /// Makes a device part of the transaction.
    /// - Returns: the index of the device.
    func change(_ address: DeviceAddress) throws(StoreError) -> Int {
        let index: Int
        if let known = deviceIndexes[address] {
            index = known
        } else {
            index = try register(DeviceRecord(address))
            recent.add(Int64(index))
            loadedNumbers.insert(index)
            for stream in streams.indices { newest[SeriesKey(device: index, stream: stream)] = .some(nil) }
        }
        if transaction.devices[index] == nil {
            transaction.devices[index] = devices[index]
            // It has never been written.
            if devices[index].firstSeen == nil { transaction.urgentDevices.insert(index) }
        }
        return index
    }

    /// Returns the number of a scope.
    func scope(of device: DeviceAddress, _ epoch: Epoch) -> Int {
        let key = DeviceEpoch(device: device, epoch: epoch)
        if let number = scopeNumbers[key] { return number }
        scopeNumbers[key] = numbers.count
        scopeKeys.append(key)
        scopesByDevice[device, default: []].append(numbers.count)
        numbers.append(BatchNumbers())
        return numbers.count - 1
    }
}
