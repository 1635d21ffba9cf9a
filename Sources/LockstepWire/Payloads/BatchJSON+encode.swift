public import LockstepModel

/// The JSON form of a batch: one object, its keys and columns in a fixed order.
///
/// `{"v":1,"epoch":"…","seq":42,"t":1700000000000000,"dt":20000,"x":[…],"y":[…],"z":[…]}`: `t` is the first timestamp
/// in µs since 1970; `dt` the step to the next in µs, one number where all steps are alike, else one a step; absent for
/// a single sample. `"live":false` marks what is sent late or again. A value that is not known is null; a column
/// without any known value is left out.
public enum BatchJSON {
    public static func encode(_ batch: Batch) -> [UInt8] {
        let samples = batch.samples
        var object = JSONObjectWriter(reservingCapacity: 128 + samples.count * samples.columns.count * 10)
        object.members(of: batch)
        return object.finish()
    }

    /// The same payload with `"live":false`: how a batch kept as encoded is sent late or again.
    public static func markingLate(_ payload: [UInt8]) -> [UInt8] {
        var late = payload
        late.insert(contentsOf: #""live":false,"#.utf8, at: 1)
        return late
    }
}

extension JSONObjectWriter {
    /// Writes what a batch is made of.
    package mutating func members(of batch: Batch) {
        let samples = batch.samples
        member("v", BatchRules.version)
        if let position = batch.position {
            member("epoch", position.epoch.rawValue)
            member("seq", position.seq)
        }
        if !batch.isLive { member("live", false) }
        if let first = samples.times.first { member("t", first) }
        if samples.count > 1 { steps(of: samples.times) }
        for (column, values) in zip(samples.stream.columns, samples.columns)
        where column.isRequired || values.contains(where: { !$0.isNaN }) {
            member(column.name, values) { $0.value($1, kind: column.kind) }
        }
    }

    private mutating func steps(of times: [Int64]) {
        let steps = zip(times.dropFirst(), times).map { $0 - $1 }
        if steps.allSatisfy({ $0 == steps[0] }) {
            member("dt", steps[0])
        } else {
            member("dt", steps)
        }
    }

    fileprivate mutating func value(_ value: Double, kind: SensorStream.Kind) {
        guard kind.takes(value) else { return null() }
        switch kind {
        case .real: raw(value.description)
        case .integer: raw(String(Int64(value)))
        case .choice(let words): string(words[Int(value)])
        }
    }
}
