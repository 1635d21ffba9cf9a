import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

/// Derives findings from observations, as a pure function of the observations and the time.
struct Diagnosis {
    /// The age of a collector's health report above which it is outdated, in µs. Reports are sent every 30 s.
    private static let maxHealthAge: Int64 = 120_000_000
    /// The normal maximum of the time from sample to arrival, in µs: a window of one second and a margin.
    private static let maxLag: Int64 = 10_000_000
    /// The normal maximum of the difference between two clocks, in µs.
    private static let maxClockError: Int64 = 1_000_000
    /// The normal maximum of batches without an acknowledgement; collectors acknowledge about once per second.
    private static let maxBehind: Int64 = 100
    /// The free space below which a disk is nearly full, in bytes.
    private static let minFree: Int64 = 1 << 30

    let observations: Observations
    let now: Timestamp

    var findings: [Finding] {
        guard observations.version != nil else { return [unreachable] }
        return [broker] + AccessDiagnosis(observations: observations).findings + collectors + devices + unreadable
            + disk
    }

    private var unreachable: Finding {
        let reason = observations.failure.map { "\($0)" } ?? "no answer"
        return Finding(
            .failure, "broker", "\(observations.broker): \(reason)",
            "check that the broker is running, and the firewall; for connection options see 'lockstep doctor --help'")
    }

    private var broker: Finding {
        let version = observations.version?.rawValue ?? "?"
        let software = observations.software.map { ", \($0)" } ?? ""
        let text = "\(observations.broker) supports MQTT \(version)\(software)"
        return version == "5"
            ? Finding(.ok, "broker", text)
            : Finding(
                .warning, "broker", text,
                "update the broker to one with MQTT 5, which reports why it rejects a request")
    }

    private var collectors: [Finding] {
        guard !observations.collectors.isEmpty else {
            return [
                Finding(
                    .failure, "collector", "no collector has connected to this broker yet",
                    "start one: lockstep-collector --broker \(observations.broker) --store sqlite:samples.db")
            ]
        }
        return observations.collectors.sorted { $0.key < $1.key }.flatMap { name, health in
            [state(of: health, named: name), version(of: health, named: name)].compactMap(\.self)
        }
    }

    private func version(of health: CollectorHealth, named name: String) -> Finding? {
        guard health.status != .offline, health.version != lockstepVersion else { return nil }
        let version = health.version.map { "version \($0.printable)" } ?? "unknown version"
        return Finding(
            .warning, "collector \(name)", "\(version), but this program has version \(lockstepVersion)",
            "use the same version of all programs: other versions may not be compatible")
    }

    private func state(of health: CollectorHealth, named name: String) -> Finding {
        let subject = "collector \(name)"
        let age = health.at.age(at: now)
        switch health.status {
        case .offline:
            return Finding(
                .failure, subject, "offline for \(age)",
                "start it again; agents keep their samples until then")
        case .stalled:
            return Finding(
                .failure, subject, "stores no data: \((health.problem ?? "unknown reason").printable)",
                "free disk space or repair the store; the collector then continues by itself")
        case .online where now - health.at > Self.maxHealthAge:
            return Finding(
                .warning, subject, "online, but the last report is \(age) old",
                "check that the collector is running and that its clock is correct")
        case .online:
            return Finding(
                health.rejected > 0 ? .warning : .ok, subject,
                "online; \(health.devices) devices, \(health.stored) samples stored, \(health.duplicates) "
                    + "duplicates, \(health.conflicts) conflicts, \(health.rejected) rejected"
                    + ((health.dropped ?? 0) > 0 ? ", \(health.dropped ?? 0) dropped by agents" : ""),
                health.rejected > 0 ? "show the reasons: SELECT reason, topic FROM rejected in its store" : nil)
        }
    }

    private var devices: [Finding] {
        guard !observations.devices.isEmpty else {
            return [
                Finding(
                    .warning, "devices", "no device has connected to this broker yet",
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
                "invalid message on '\(first.key.printable)': \(first.value.printable)"
                    + (others > 0 ? "; invalid messages on \(others) more topics" : ""),
                "find its sender; collectors keep such messages in the table 'rejected'")
        ]
    }

    private var disk: [Finding] {
        guard let (free, size) = observations.disk else { return [] }
        let text = "\(free >> 20) of \(size >> 20) MB free on the disk of the store"
        return free < Self.minFree
            ? [Finding(.warning, "disk", text, "free disk space; on a full disk the collector stores no data")]
            : [Finding(.ok, "disk", text)]
    }

    /// The findings about one device.
    private struct DeviceDiagnosis {
        let device: Observations.Device
        let seconds: Double
        let now: Timestamp

        var findings: [Finding] {
            let found = [state, clock, gaps, backlog, dropped].compactMap(\.self) + sources
            if !found.isEmpty { return found }
            let state = device.state.map { "\($0.to.rawValue) for \($0.since.age(at: now))" } ?? "known"
            return [Finding(.ok, "", lag.map { "\(state), latency \($0 / 1000) ms" } ?? state)]
        }

        /// The median of the time from a sample to its arrival, in µs.
        private var lag: Int64? {
            device.lags.isEmpty ? nil : device.lags.sorted()[device.lags.count / 2]
        }

        private var state: Finding? {
            guard let state = device.state else {
                return device.lags.isEmpty
                    ? nil
                    : Finding(
                        .warning, "", "publishes samples, but no collector publishes its state",
                        "check that a collector is running for its group")
            }
            let since = state.since.age(at: now)
            switch state.to {
            case .background where state.reason == "silent" || state.reason == "connection-lost":
                return Finding(
                    .warning, "", "no messages for \(since) (\(state.reason.printable))",
                    "check its power and network; its agent keeps recorded samples")
            case .active where device.lags.isEmpty && seconds >= 5:
                return Finding(
                    .warning, "", "active for \(since), but no samples in \(Int(seconds)) s",
                    "check its sensors: lockstep command DEVICE --describe")
            default: return nil
            }
        }

        private var clock: Finding? {
            guard let lag else { return nil }
            if lag < -Diagnosis.maxClockError {
                return Finding(
                    .failure, "", "its clock is \(seconds(-lag)) s ahead of the clock of this machine",
                    "synchronise both clocks with NTP: chronyc tracking, or timedatectl")
            }
            if lag > Diagnosis.maxLag {
                return Finding(
                    .warning, "", "samples arrive with a latency of \(seconds(lag)) s",
                    "check its clock (timedatectl), its window (--window) and the network")
            }
            return nil
        }

        private var gaps: Finding? {
            guard let ack = device.ack, !ack.missing.isEmpty else { return nil }
            let count = ack.missing.reduce(Int64(0)) { $0 + $1.upperBound - $1.lowerBound + 1 }
            return Finding(
                .warning, "", "\(count) batches are missing, the first is \(ack.missing[0].lowerBound)",
                "a running agent sends them again; batches that stay missing are lost, for instance if the store was "
                    + "restored from an older copy")
        }

        private var backlog: Finding? {
            guard let ack = device.ack, let highest = device.highest[ack.epoch],
                highest - ack.highest > Diagnosis.maxBehind
            else { return nil }
            return Finding(
                .warning, "", "the collector has stored batches up to \(ack.highest) of \(highest)",
                "check that the collector is running and fast enough")
        }

        private var dropped: Finding? {
            guard let presence = device.presence, presence.droppedSamples > 0 else { return nil }
            return Finding(
                .failure, "", "outbox full, \(presence.droppedSamples) samples dropped",
                "the samples are lost; raise the limits (--outbox-size, --outbox-age), and check the collector")
        }

        private var sources: [Finding] {
            (device.presence?.sources ?? [:]).filter { $0.value != "running" && $0.value != "ended" }
                .sorted { $0.key < $1.key }.map { name, status in
                    Finding(
                        .warning, "", "\(name.printable): \(status.printable)",
                        "list the sensors on the device: lockstep-agent sensors")
                }
        }

        private func seconds(_ microseconds: Int64) -> String { fixed(Double(microseconds) / 1e6, 1) }
    }
}
