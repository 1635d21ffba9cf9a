public import LockstepModel

/// The markers of a session as CSV, with the columns `t` (µs since 1970), `time`, `clock`, `text`, `device`, `value`,
/// `duration_s` and `id`.
public func markerCSV(_ markers: [RecordingSession.Marker]) -> String {
    markers.reduce("t,time,clock,text,device,value,duration_s,id\n") { text, marker in
        let fields = [
            "\(marker.time.microseconds)", "\(marker.time)", marker.clock.rawValue, OutputBuffer.csvField(marker.text),
            marker.device?.rawValue ?? "", marker.value.map { "\($0)" } ?? "",
            marker.duration.map { "\(Double($0) / 1e6)" } ?? "", OutputBuffer.csvField(marker.id),
        ]
        return text + fields.joined(separator: ",") + "\n"
    }
}
