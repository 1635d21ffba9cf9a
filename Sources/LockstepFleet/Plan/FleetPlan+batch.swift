public import LockstepModel
import LockstepSensors
import LockstepWire

extension FleetPlan {
    /// A batch of a device: always the same for the same number.
    public func batch(device: Int, seq: Int64) -> Batch {
        let (round, streamIndex) = place(seq)
        let stream = streams[streamIndex]
        let phase = phase(device: device, stream: streamIndex)
        // Sample 0 is one step after the backlog begins, so that a round's last sample is there when it is due.
        let zero = begin + phase - (backlogRounds + 1) * window
        let times = samples(round: round).map { number in
            zero.microseconds + Int64((Double(number + 1) * 1_000_000 / rate).rounded(.down))
        }
        var generator = SeededGenerator(
            seed: seed, lane: UInt64(device * streams.count + streamIndex), index: seq)
        let columns = stream.columns.map { column in
            times.map { column.anyValue(at: $0, step: Int64(1_000_000 / rate), using: &generator) }
        }
        return Batch(
            position: BatchPosition(epoch: epoch(device), seq: seq), isLive: !isBacklog(seq),
            samples: SampleBlock(stream: stream, times: times, columns: columns))
    }

    /// The payload and the stream of a batch, as an agent sends it.
    /// - Parameter isLate: whether it was sent before, or should have been.
    func payload(device: Int, seq: Int64, isLate: Bool) -> (payload: [UInt8], stream: SensorStream) {
        var batch = batch(device: device, seq: seq)
        if isLate { batch.isLive = false }
        return (BatchJSON.encode(batch), batch.samples.stream)
    }
}

extension SensorStream.Column {
    /// A value that this column can have, with as many digits as a sensor gives: load, without a meaning.
    fileprivate func anyValue(at time: Int64, step: Int64, using generator: inout SeededGenerator) -> Double {
        switch (kind, name) {
        // The interval that a sample covers, and the age of a fix.
        case (.integer, "start"): Double(time - step)
        case (.integer, "at"): Double(time)
        case (.integer, _): Double(generator.next() % 3)
        case (.choice(let words), _): Double(generator.next() % UInt64(words.count))
        case (.real, _): Double(Int64(generator.next() % 20_001) - 10_000) / 10_000
        }
    }
}
