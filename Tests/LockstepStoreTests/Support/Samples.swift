import LockstepModel
import LockstepStore

/// The start time of test samples: 2023-11-14T22:13:20Z, in µs since 1970.
let start: Int64 = 1_700_000_000_000_000

/// Returns the address of a test device.
func device(_ name: String, group: String = "lab") -> DeviceAddress {
    DeviceAddress(group: GroupID(unchecked: group), device: DeviceID(unchecked: name))
}

func epoch(_ name: String) -> Epoch { Epoch(unchecked: name) }

/// Returns the time `offset` µs after ``start``.
func time(_ offset: Int64) -> Timestamp { Timestamp(microseconds: start + offset) }

/// Returns a block with one sample for each offset (µs after ``start``): x is the offset, y is 0.5, z is `z`.
func acceleration(_ offsets: some Sequence<Int64>, z: Double = -1) -> SampleBlock {
    var block = SampleBlock(stream: .accelerometer)
    for offset in offsets { block.append(time: time(offset), values: [Double(offset), 0.5, z]) }
    return block
}

/// Returns a batch that the collector received one second after ``start``.
func received(
    _ block: SampleBlock, from sender: DeviceAddress = device("one"), epoch name: String = "e", seq: Int64? = nil
) -> ReceivedBatch {
    let position = seq.map { BatchPosition(epoch: epoch(name), seq: $0) }
    return ReceivedBatch(
        device: sender, batch: Batch(position: position, samples: block), receivedAt: time(1_000_000))
}

extension SQLiteStore {
    /// Writes batches in one group.
    @discardableResult
    func write(_ batches: ReceivedBatch...) throws -> IngestResult { try write(IngestGroup(batches: batches)) }
}

extension SequenceSet: ExpressibleByArrayLiteral {
    init(arrayLiteral elements: ClosedRange<Int64>...) { self.init(elements) }
}

/// A small deterministic random number generator.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
