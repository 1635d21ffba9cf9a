import LockstepCommandLine
import LockstepModel
import LockstepWire

/// What was not received, and what this program cannot read.
extension Diagnosis {
    /// The finding if no collector has reported.
    var noCollector: Finding {
        let doubts = observations.doubts(publishedWithin: Observations.reportTimes.collector)
        guard doubts.isEmpty else {
            return observations.devices.values.contains { $0.isAcknowledged && $0.state == nil }
                ? .unknown("collector", "one acknowledges samples, but its report was not received", doubts)
                : .unknown(
                    "collector", "whether a collector is running is unknown, because no report was received", doubts)
        }
        return Finding(
            .failure, "collector",
            observations.hasRetained || observations.isRetainAvailable
                ? "no collector has connected to this broker yet" : "no collector is running",
            "start one: lockstep-collector --broker \(observations.broker) --store sqlite:samples.db")
    }

    /// The finding if nothing was received of any device.
    var noDevice: Finding {
        var doubts = observations.doubts(publishedWithin: Observations.reportTimes.agent)
        // The user of a collector's report may still have no right to read what devices publish.
        let known = observations.collectors.values.map(\.devices).max() ?? 0
        if known > 0, observations.canRead, observations.canWriteAsDevice != true, !doubts.contains(.rights) {
            doubts.insert(.rights, at: 0)
        }
        guard doubts.isEmpty else {
            return .unknown(
                "devices",
                known > 0
                    ? "the collectors know \(counted(known, "device")), but nothing was received of one"
                    : "whether there are devices is unknown, because nothing was received of one", doubts)
        }
        return Finding(
            .warning, "devices", "no device has connected to this broker yet",
            "start an agent: lockstep-agent --broker \(observations.broker) --source …")
    }

    var unreadable: [Finding] {
        let undeclared = observations.undeclared.sorted()
        let findings =
            undeclared.isEmpty
            ? []
            : [
                Finding(
                    .unknown, "streams",
                    "the samples of \(counted(undeclared.count, "stream")) were not checked, because the settings of this "
                        + "program do not declare \(undeclared.count == 1 ? "it" : "them"): "
                        + undeclared.prefix(3).map(\.printable).joined(separator: ", ")
                        + (undeclared.count > 3 ? ", …" : ""),
                    "use the settings of the collector, which declares them: --config collector.yaml. Batches that it "
                        + "does not know either, it keeps in the table 'rejected'")
            ]
        guard let first = observations.unreadable.min(by: { $0.key < $1.key }) else { return findings }
        let others = observations.unreadable.count - 1
        return findings + [
            Finding(
                .warning, "messages",
                "invalid message on '\(first.key.printable)': \(first.value.printable)"
                    + (others > 0 ? "; invalid messages on " + counted(others, "more topic") : ""),
                first.key.contains("/" + SensorStream.declaredPrefix)
                    ? "compare the declarations of the stream in the settings of this program, of the agent and of the "
                        + "collector, which keeps messages that it cannot read in the table 'rejected'"
                    : "find its sender; collectors keep such messages in the table 'rejected'")
        ]
    }
}
