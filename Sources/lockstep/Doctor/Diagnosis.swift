import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

/// What observations mean: a pure function of them and the time.
struct Diagnosis {
    /// µs after which a collector's word, told every half minute, is old.
    private static let oldHealth: Int64 = 120_000_000
    /// µs that samples may be on their way: a window of a second, and some.
    private static let longestLag: Int64 = 10_000_000
    /// µs by which clocks differ that nobody looks after.
    private static let clockError: Int64 = 1_000_000
    /// Batches that a collector may be behind: it acknowledges about once a second.
    private static let mostBehind: Int64 = 100
    /// Below so many bytes a disk is nearly full.
    private static let leastFree: Int64 = 1 << 30

    let observations: Observations
    let now: Timestamp

    var findings: [Finding] {
        guard observations.version != nil else { return [unreached] }
        return [broker] + AccessDiagnosis(observations: observations).findings + collectors + devices + unreadable
            + disk
    }

    private var unreached: Finding {
        let reason = observations.failure.map { "\($0)" } ?? "no answer"
        return Finding(
            .failure, "broker", "\(observations.broker): \(reason)",
            "is it running there, and does a firewall let this machine through? 'lockstep doctor --help' has the options"
        )
    }

    private var broker: Finding {
        let version = observations.version?.rawValue ?? "?"
        let software = observations.software.map { ", \($0)" } ?? ""
        let text = "\(observations.broker) speaks MQTT \(version)\(software)"
        return version == "5"
            ? Finding(.ok, "broker", text)
            : Finding(
                .warning, "broker", text,
                "with MQTT 5 a broker says why it refuses something; update it, if it is one that could")
    }

    private var collectors: [Finding] {
        guard !observations.collectors.isEmpty else {
            return [
                Finding(
                    .failure, "collector", "no collector has ever said here that it runs",
                    "start one: lockstep-collector --broker \(observations.broker) --store sqlite:samples.db")
            ]
        }
        return observations.collectors.sorted { $0.key < $1.key }.flatMap { name, health in
            [state(of: health, named: name), version(of: health, named: name)].compactMap(\.self)
        }
    }

    private func version(of health: CollectorHealth, named name: String) -> Finding? {
        guard health.status != .offline, health.version != lockstepVersion else { return nil }
        let theirs =
            health.version.map { "is Lockstep \($0.printable)" } ?? "is of a Lockstep that does not tell its version"
        return Finding(
            .warning, "collector \(name)", "\(theirs), this is \(lockstepVersion)",
            "use the same version: what one of them writes the other may not know")
    }

    private func state(of health: CollectorHealth, named name: String) -> Finding {
        let subject = "collector \(name)"
        let age = health.at.age(at: now)
        switch health.status {
        case .offline:
            return Finding(
                .failure, subject, "offline for \(age)",
                "start it again: agents keep what they have until then")
        case .stalled:
            return Finding(
                .failure, subject, "takes nothing in: \((health.problem ?? "it does not say why").printable)",
                "make room, or mend the store; it goes on by itself")
        case .online where now - health.at > Self.oldHealth:
            return Finding(
                .warning, subject, "says that it is online, but has not for \(age)",
                "does it still run, and is its clock right?")
        case .online:
            return Finding(
                health.rejected > 0 ? .warning : .ok, subject,
                "online; \(health.devices) devices, \(health.stored) samples stored, \(health.duplicates) "
                    + "duplicates, \(health.conflicts) conflicts, \(health.rejected) rejected"
                    + ((health.dropped ?? 0) > 0 ? ", \(health.dropped ?? 0) dropped by agents" : ""),
                health.rejected > 0 ? "see why: SELECT reason, topic FROM rejected in its store" : nil)
        }
    }

    private var devices: [Finding] {
        guard !observations.devices.isEmpty else {
            return [
                Finding(
                    .warning, "devices", "no device has ever been heard of here",
                    "start an agent: lockstep-agent --broker \(observations.broker) --source …")
            ]
        }
        return observations.devices.sorted { $0.key < $1.key }.flatMap { address, device in
            let found = DeviceDiagnosis(device: device, seconds: observations.seconds, now: now).findings
            return found.map { finding in
                var finding = finding
                finding.subject = "device \(address)"
                return finding
            }
        }
    }

    private var unreadable: [Finding] {
        guard let first = observations.unreadable.min(by: { $0.key < $1.key }) else { return [] }
        let others = observations.unreadable.count - 1
        return [
            Finding(
                .warning, "messages",
                "'\(first.key.printable)' can't be read: \(first.value.printable)"
                    + (others > 0 ? ", and so \(others) more topics" : ""),
                "who sends this? Collectors keep it in their table 'rejected'")
        ]
    }

    private var disk: [Finding] {
        guard let (free, size) = observations.disk else { return [] }
        let text = "\(free >> 20) of \(size >> 20) MB are free where the store is"
        return free < Self.leastFree
            ? [Finding(.warning, "disk", text, "make room before it is full: the collector then takes nothing in")]
            : [Finding(.ok, "disk", text)]
    }

    /// What is to be said of one device.
    private struct DeviceDiagnosis {
        let device: Observations.Device
        let seconds: Double
        let now: Timestamp

        var findings: [Finding] {
            let found = [state, clock, gaps, backlog, dropped].compactMap(\.self) + sources
            if !found.isEmpty { return found }
            let state = device.state.map { "\($0.to.rawValue) for \($0.since.age(at: now))" } ?? "heard"
            return [Finding(.ok, "", lag.map { "\(state), \($0 / 1000) ms from sample to here" } ?? state)]
        }

        /// The middle time from a sample to its arrival, in µs.
        private var lag: Int64? {
            device.lags.isEmpty ? nil : device.lags.sorted()[device.lags.count / 2]
        }

        private var state: Finding? {
            guard let state = device.state else {
                return device.lags.isEmpty
                    ? nil
                    : Finding(
                        .warning, "", "sends samples, but no collector tells its state",
                        "does a collector listen to its group?")
            }
            let since = state.since.age(at: now)
            switch state.to {
            case .background where state.reason == "silent" || state.reason == "connection-lost":
                return Finding(
                    .warning, "", "not heard for \(since) (\(state.reason.printable))",
                    "is it switched on, and can it reach the broker? Its agent keeps what it records")
            case .active where device.lags.isEmpty && seconds >= 5:
                return Finding(
                    .warning, "", "active for \(since), but sent nothing in \(Int(seconds)) s",
                    "do its sensors work? 'lockstep command DEVICE --describe' tells")
            default: return nil
            }
        }

        private var clock: Finding? {
            guard let lag else { return nil }
            if lag < -Diagnosis.clockError {
                return Finding(
                    .failure, "", "its clock is \(seconds(-lag)) s ahead of this machine's",
                    "set both by NTP: chronyc tracking, or timedatectl")
            }
            if lag > Diagnosis.longestLag {
                return Finding(
                    .warning, "", "its samples are \(seconds(lag)) s old when they arrive",
                    "its clock is behind (timedatectl), its window is long (--window), or the network is slow")
            }
            return nil
        }

        private var gaps: Finding? {
            guard let ack = device.ack, !ack.missing.isEmpty else { return nil }
            let count = ack.missing.reduce(Int64(0)) { $0 + $1.upperBound - $1.lowerBound + 1 }
            return Finding(
                .warning, "", "\(count) batches are missing, the first is \(ack.missing[0].lowerBound)",
                "its agent sends them again while it runs; those that stay are lost, as they are where the store was "
                    + "restored from an older copy")
        }

        private var backlog: Finding? {
            guard let ack = device.ack, let highest = device.highest[ack.epoch],
                highest - ack.highest > Diagnosis.mostBehind
            else { return nil }
            return Finding(
                .warning, "", "the collector has stored up to batch \(ack.highest) of \(highest)",
                "is the collector stopped, or slower than what comes in?")
        }

        private var dropped: Finding? {
            guard let presence = device.presence, presence.droppedSamples > 0 else { return nil }
            return Finding(
                .failure, "", "its outbox had to drop \(presence.droppedSamples) samples",
                "they are lost; give it more room (--outbox-size, --outbox-age), or a collector sooner")
        }

        private var sources: [Finding] {
            (device.presence?.sources ?? [:]).filter { $0.value != "running" && $0.value != "ended" }
                .sorted { $0.key < $1.key }.map { name, status in
                    Finding(
                        .warning, "", "\(name.printable): \(status.printable)",
                        "on the device, 'lockstep-agent sensors' says what there is")
                }
        }

        private func seconds(_ microseconds: Int64) -> String { fixed(Double(microseconds) / 1e6, 1) }
    }
}
