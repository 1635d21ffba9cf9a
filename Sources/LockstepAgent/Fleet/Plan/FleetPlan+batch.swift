public import LockstepModel
import LockstepSensors
import LockstepWire

extension FleetPlan {
    /// Returns the batch of a device with a sequence number. Equal arguments give equal batches.
    public func batch(device: Int, seq: Int64) -> Batch {
        let (round, streamIndex) = place(seq)
        let stream = streams[streamIndex]
        let phase = phase(device: device, stream: streamIndex)
        // Sample 0 is one sampling interval after the start of the backlog, so that the last sample of a round is at
        // the end of its window.
        let origin = start + phase - (backlogRounds + 1) * window
        let times = samples(round: round).map { number in
            origin.microseconds + Int64((Double(number + 1) * 1_000_000 / rate).rounded(.down))
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

    /// Returns the stream of a batch, and its payload as an agent sends it.
    /// - Parameter isLate: whether the batch is backlog or is sent again.
    func payload(device: Int, seq: Int64, isLate: Bool) -> (payload: [UInt8], stream: SensorStream) {
        var batch = batch(device: device, seq: seq)
        if isLate { batch.isLive = false }
        return (BatchJSON.encode(batch), batch.samples.stream)
    }
}

extension SensorStream.Column {
    /// Returns a random valid value of this column, with about as many digits as a value of a sensor. Its only purpose
    /// is to cause load.
    fileprivate func anyValue(at time: Int64, step: Int64, using generator: inout SeededGenerator) -> Double {
        switch kind {
        // The start of the interval that a sample covers, or the time of a measurement.
        case .integer where isTime: Double(time - step)
        case .integer: Double(generator.next() % 3)
        case .choice(let words): Double(generator.next() % UInt64(words.count))
        case .real: Double(Int64(generator.next() % 20_001) - 10_000) / 10_000
        }
    }
}
