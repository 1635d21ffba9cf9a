public import LockstepModel

/// 2023-11-14T22:13:20Z.
public let start: Int64 = 1_700_000_000_000_000

/// A moment `boot` µs after the machine's start, with the wall clock `offset` µs ahead of ``start``.
public func moment(boot: Int64, offset: Int64 = 0, asleep: Int64 = 0) -> Moment {
    Moment(wall: Timestamp(microseconds: start + boot + offset), boot: boot, awake: boot - asleep)
}

/// A block with one sample per time; x counts up from `x`.
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
