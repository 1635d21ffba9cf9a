import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepWire

/// The result of `lockstep verify`, as text and as JSON.
struct VerifyReport {
    /// The errors found by the integrity check of SQLite.
    var findings: [String]
    var isFileChecked = false
    var devices: [DeviceVerification] = []
    /// The number of forgotten devices, which are left out.
    var forgotten = 0
    var journals: [JournalCheck.Outcome] = []
    /// What has left by the rules of retention.
    var expiries: [SeriesExpiry] = []
    /// Whether the store knows no device at all: it may be the wrong file.
    var isEmpty = false

    var onItsWay: Int64 { devices.flatMap(\.epochs).reduce(0) { $0 + $1.onItsWay.count } }

    /// The exit status of the command: 0 if the store is complete, 1 if something is wrong, and 2 if batches are on their way.
    var exitStatus: Int32 { problems.isEmpty ? (onItsWay > 0 ? 2 : 0) : 1 }

    /// The reasons why the store is incomplete, other than batches on their way.
    var problems: [String] {
        var problems: [String] = []
        func add(_ count: Int64, _ one: String, _ many: String) {
            if count > 0 { problems.append(counted(count, one, many)) }
        }
        add(Int64(findings.count), "integrity error", "integrity errors")
        let epochs = devices.flatMap(\.epochs)
        if isEmpty { problems.append("the store has no device") }
        add(epochs.reduce(0) { $0 + $1.missing.count }, "batch missing", "batches missing")
        add(epochs.reduce(0) { $0 + $1.dropped.count }, "batch dropped", "batches dropped")
        add(journals.reduce(0) { $0 + $1.missing.sampleCount }, "accepted sample missing", "accepted samples missing")
        add(
            journals.reduce(0) { $0 + $1.different.sampleCount }, "accepted sample stored with other values",
            "accepted samples stored with other values")
        return problems
    }

    var isComplete: Bool { exitStatus == 0 }

    private var sampleCount: Int64 {
        isFileChecked
            ? devices.flatMap(\.samples).reduce(0) { $0 + $1.count } : devices.reduce(0) { $0 + $1.device.samples }
    }

    func text(for terminal: Terminal) -> String {
        var lines: [String] = findings.map { terminal.styled("damaged: \($0)", .red) }
        for device in devices {
            lines.append(terminal.styled(device.address.description, .bold))
            for epoch in device.epochs {
                lines.append("  epoch \(epoch.epoch)  received \(epoch.received)")
                if !epoch.earlier.isEmpty { lines.append("    before this store \(epoch.earlier)") }
                if !epoch.onItsWay.isEmpty {
                    lines.append(terminal.styled("    on its way \(epoch.onItsWay)", .yellow))
                }
                if !epoch.missing.isEmpty { lines.append(terminal.styled("    missing \(epoch.missing)", .red)) }
                if !epoch.dropped.isEmpty {
                    lines.append(terminal.styled("    dropped \(epoch.dropped)", .red))
                }
            }
            let width = device.samples.map { $0.stream.name.count }.max() ?? 0
            let countWidth = device.samples.map { "\($0.count)".count }.max() ?? 0
            for sample in device.samples {
                let name = sample.stream.name + String(repeating: " ", count: width - sample.stream.name.count)
                let count = "\(sample.count)"
                let padding = String(repeating: " ", count: countWidth - count.count)
                lines.append("  \(name)  \(padding)\(count) \(sample.count == 1 ? "sample" : "samples")")
            }
            for expiry in expiries where expiry.device == device.address {
                lines.append("  \(expiry.text)")
            }
            if !isFileChecked { lines.append("  \(counted(device.device.samples, "sample"))") }
            if device.conflicts > 0 {
                let conflicts = counted(device.conflicts, "conflict")
                lines.append(terminal.styled("  \(conflicts): see the table conflicts", .yellow))
            }
        }
        for journal in journals {
            lines.append(
                "journal of \(journal.device): \(counted(journal.accepted, "sample")) accepted, "
                    + "\(journal.stored) stored once" + (journal.expired > 0 ? ", \(journal.expired) expired" : "")
                    + (journal.deleted > 0 ? ", \(journal.deleted) deleted" : ""))
            if !devices.contains(where: { $0.address == journal.device }) {
                lines.append(terminal.styled("  no device \(journal.device) in the store", .red))
            }
            lines += details(of: journal.missing, "missing", terminal)
            lines += details(of: journal.different, "stored with other values", terminal)
        }
        if forgotten > 0 { lines.append("left out: \(counted(forgotten, "forgotten device"))") }
        lines.append(verdict(terminal))
        return lines.joined(separator: "\n") + "\n"
    }

    private func verdict(_ terminal: Terminal) -> String {
        let onItsWay = onItsWay > 0 ? [counted(onItsWay, "batch", "batches") + " on the way"] : []
        guard problems.isEmpty else {
            return terminal.styled("incomplete: " + (problems + onItsWay).joined(separator: ", "), .red)
        }
        guard onItsWay.isEmpty else {
            return terminal.styled("not yet complete: " + onItsWay.joined() + ", nothing missing", .yellow)
        }
        let accepted = journals.reduce(0) { $0 + $1.accepted }
        let suffix =
            journals.isEmpty
            ? "" : ", including " + (accepted == 1 ? "the accepted sample" : "all \(accepted) accepted samples")
        // Without the file, the samples are those that were ever stored.
        let expired = isFileChecked ? 0 : expiries.reduce(0) { $0 + $1.samples }
        return terminal.styled(
            "complete: \(counted(sampleCount, "sample")) of \(counted(devices.count, "device"))"
                + (expired > 0 ? ", \(expired) of them expired" : "") + suffix,
            .green)
    }

    /// Returns lines about the first batches with a problem, and the number of the others.
    private func details(of findings: [JournalCheck.Mismatch], _ problem: String, _ terminal: Terminal) -> [String] {
        let limit = 20
        var lines = findings.prefix(limit).map { finding in
            terminal.styled(
                "  \(problem): \(finding.times.count) of \(finding.stream), batch \(finding.seq), from "
                    + Timestamp(microseconds: finding.times[0]).description, .red)
        }
        if findings.count > limit {
            lines.append("  … and in \(counted(findings.count - limit, "more batch", "more batches"))")
        }
        return lines
    }

    var json: String {
        var object = JSONObjectWriter()
        object.member("complete", isComplete)
        object.member("on_its_way", onItsWay)
        object.member("problems", problems) { $0.string($1) }
        object.member("file_checked", isFileChecked)
        object.member("integrity", findings) { $0.string($1) }
        object.member("devices", devices) { $0.raw(json(of: $1)) }
        if forgotten > 0 { object.member("forgotten", Int64(forgotten)) }
        object.member("journals", journals) { writer, journal in
            var object = JSONObjectWriter()
            object.member("group", journal.device.group.rawValue)
            object.member("device", journal.device.device.rawValue)
            object.member("accepted", Int64(journal.accepted))
            object.member("stored", Int64(journal.stored))
            object.member("expired", Int64(journal.expired))
            object.member("missing", journal.missing.sampleCount)
            object.member("different", journal.different.sampleCount)
            object.member("deleted", Int64(journal.deleted))
            writer.raw(String(decoding: object.finish(), as: UTF8.self))
        }
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }

    private func json(of device: DeviceVerification) -> String {
        var object = JSONObjectWriter()
        object.member("group", device.address.group.rawValue)
        object.member("device", device.address.device.rawValue)
        object.member("epochs", device.epochs) { writer, epoch in
            var object = JSONObjectWriter()
            object.member("epoch", epoch.epoch.rawValue)
            object.member("received", ranges: epoch.received.ranges)
            object.member("missing", ranges: epoch.missing.ranges)
            object.member("on_its_way", ranges: epoch.onItsWay.ranges)
            object.member("before", ranges: epoch.earlier.ranges)
            object.member("dropped", ranges: epoch.dropped.ranges)
            writer.raw(String(decoding: object.finish(), as: UTF8.self))
        }
        object.member("stored", device.device.samples)
        object.member("samples", device.samples) { writer, sample in
            var object = JSONObjectWriter()
            object.member("stream", sample.stream.name)
            object.member("count", sample.count)
            writer.raw(String(decoding: object.finish(), as: UTF8.self))
        }
        object.member("expired", expiries.filter { $0.device == device.address }) { writer, expiry in
            var object = JSONObjectWriter()
            object.member("stream", expiry.stream)
            object.member("before", expiry.before)
            object.member("samples", expiry.samples)
            object.member("late", expiry.late)
            writer.raw(String(decoding: object.finish(), as: UTF8.self))
        }
        object.member("conflicts", device.conflicts)
        return String(decoding: object.finish(), as: UTF8.self)
    }
}

extension [JournalCheck.Mismatch] {
    fileprivate var sampleCount: Int64 { reduce(0) { $0 + Int64($1.times.count) } }
}

extension SeriesExpiry {
    /// What has left, in words.
    fileprivate var text: String {
        "\(stream): \(counted(samples, "sample")) before \(Timestamp(microseconds: before)) expired"
            + (late > 0 ? ", \(late) arrived too late" : "")
    }
}
