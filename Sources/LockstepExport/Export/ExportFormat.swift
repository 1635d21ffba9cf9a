import LockstepModel

/// A file format of exports.
public enum ExportFormat: String, CaseIterable, Sendable {
    /// CSV with a header.
    case csv
    /// One JSON object per line.
    case ndjson
    /// GeoJSON (RFC 7946).
    case geojson
    /// GPX 1.1.
    case gpx
    /// MCAP with messages in JSON.
    case mcap
    /// SenML (RFC 8428) in JSON.
    case senml
    /// SenML (RFC 8428) in CBOR.
    case senmlCBOR = "senml-cbor"
    /// Apache Parquet.
    case parquet
    /// XDF 1.0, for sessions.
    case xdf

    /// Whether the file is not text.
    public var isBinary: Bool { [.mcap, .senmlCBOR, .parquet, .xdf].contains(self) }
    /// Whether the file contains positions only.
    public var needsPositions: Bool { self == .geojson || self == .gpx }
    /// Whether each sample has named columns, so that a column can be added.
    public var hasColumns: Bool { [.csv, .ndjson, .parquet].contains(self) }
    /// Whether the samples of several devices are sorted by time, instead of by device, then time.
    public var mergesDevices: Bool { self == .mcap }
}

extension ExportFormat {
    /// The usual number of passes over the samples of a device, to estimate the progress.
    var passes: Int { self == .geojson ? 7 : 1 }

    /// Returns whether the format can represent a time.
    func represents(_ time: Timestamp) -> Bool {
        (self != .senml && self != .senmlCBOR) || time.microseconds >= SenMLWriter.earliest
    }
}
