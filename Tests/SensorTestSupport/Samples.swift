public import LockstepModel

/// The wall time of the machine's start in tests: 2023-11-14T22:13:20Z, in µs.
public let start: Int64 = 1_700_000_000_000_000

/// Returns the moment `boot` µs after the machine's start, of which `asleep` µs were spent in suspend. The wall clock
/// is `offset` µs ahead of ``start`` plus `boot`.
public func moment(boot: Int64, offset: Int64 = 0, asleep: Int64 = 0) -> Moment {
    Moment(wall: Timestamp(microseconds: start + boot + offset), boot: boot, awake: boot - asleep)
}

/// Returns a block with one sample per time. The first column counts up from `x`.
public func block(_ times: some Sequence<Int64>, _ stream: SensorStream = .accelerometer, x: Double = 0) -> SampleBlock
{
    var block = SampleBlock(stream: stream)
    for (index, time) in times.enumerated() {
        var values = stream.columns.map { _ in 0.5 }
        values[0] = x + Double(index)
        if stream == .steps { values[1] = 1 }
        block.append(time: Timestamp(microseconds: time), values: values)
    }
    return block
}
