public import LockstepModel

/// The JSON encoding of a batch: one object with its members in a fixed order.
///
/// Example: `{"v":1,"epoch":"…","seq":42,"t":1700000000000000,"dt":20000,"x":[…],"y":[…],"z":[…]}`
///
/// - `t` is the first timestamp in µs since 1970.
/// - `dt` is the interval between samples in µs: one number if all intervals are equal, otherwise an array with one
///   number per interval. A batch with a single sample has no `dt`.
/// - `"live":false` marks a batch that is sent late or again.
/// - An unknown value is null. An optional column without known values is omitted.
public enum BatchJSON {
    /// Encodes a batch.
    public static func encode(_ batch: Batch) -> [UInt8] {
        let samples = batch.samples
        var object = JSONObjectWriter(reservingCapacity: 128 + samples.count * samples.columns.count * 10)
        object.members(of: batch)
        return object.finish()
    }
}

extension JSONObjectWriter {
    /// Writes all members of a batch.
    package mutating func members(of batch: Batch) {
        member("v", BatchRules.version)
        if let position = batch.position {
            member("epoch", position.epoch.rawValue)
            member("seq", position.seq)
        }
        if !batch.isLive { member("live", false) }
        members(of: batch.samples)
    }

    /// Writes the times and columns of samples.
    package mutating func members(of samples: SampleBlock) {
        if let first = samples.times.first { member("t", first) }
        if samples.count > 1 { intervals(of: samples.times) }
        for (column, values) in zip(samples.stream.columns, samples.columns)
        where column.isRequired || values.contains(where: { !$0.isNaN }) {
            member(column.name, values) { $0.value($1, kind: column.kind) }
        }
    }

    private mutating func intervals(of times: [Int64]) {
        let intervals = zip(times.dropFirst(), times).map { $0 - $1 }
        if intervals.allSatisfy({ $0 == intervals[0] }) {
            member("dt", intervals[0])
        } else {
            member("dt", intervals)
        }
    }

    /// Writes a member with the value of a column.
    package mutating func member(_ name: String, _ value: Double, kind: SensorStream.Kind) {
        key(name)
        self.value(value, kind: kind)
    }

    fileprivate mutating func value(_ value: Double, kind: SensorStream.Kind) {
        guard kind.accepts(value) else { return null() }
        switch kind {
        case .real: raw(value.description)
        case .integer: raw(String(Int64(value)))
        case .choice(let words): string(words[Int(value)])
        }
    }
}
