public import LockstepModel
import LockstepWire

extension Outbox {
    /// The program that an outbox belongs to.
    public enum Owner: Sendable, Hashable {
        /// An agent, whose device is the first one of the outbox.
        case agent(DeviceAddress)
        /// A gateway.
        case gateway

        /// Whether epochs continue over restarts. Otherwise, each start begins new ones.
        var keepsEpochs: Bool { self != .gateway }
        /// The program and its option, for errors.
        var names: (owner: String, option: String) { self == .gateway ? ("gateway", "--id") : ("agent", "--device") }
    }

    /// The limits above which the oldest batches are dropped.
    public struct Limits: Sendable, Hashable {
        /// The maximum size of all bodies in bytes.
        public var bytes: Int64
        /// The maximum age of a batch in µs.
        ///
        /// The age is measured on the boot clock, so that a wrong clock does not cause drops. It is only known for batches
        /// written since the machine last started. Other batches are limited by size alone.
        public var age: Int64

        /// Creates limits. The defaults are 256 MiB and seven days.
        public init(bytes: Int64 = 256 << 20, age: Int64 = 7 * 86_400_000_000) {
            self.bytes = bytes
            self.age = age
        }
    }

    /// The samples of a new batch.
    public struct Addition: Sendable, Equatable {
        /// The index of the device.
        public let device: Int
        /// The samples.
        public let samples: SampleBlock
        /// Whether they were written long before they arrived.
        public let isLate: Bool

        /// Creates an addition.
        public init(device: Int = 0, samples: SampleBlock, isLate: Bool = false) {
            self.device = device
            self.samples = samples
            self.isLate = isLate
        }
    }

    /// A batch.
    public struct Entry: Sendable {
        /// The index of the device.
        public let device: Int
        /// The epoch and number of the batch.
        public let position: BatchPosition
        /// The stream of its samples.
        public let stream: SensorStream
        /// The encoded batch without its position.
        public let body: [UInt8]
        /// Whether its samples were written long before they were accepted.
        public let isLate: Bool

        /// Creates an entry.
        public init(device: Int = 0, position: BatchPosition, stream: SensorStream, body: [UInt8], isLate: Bool = false)
        {
            self.device = device
            self.position = position
            self.stream = stream
            self.body = body
            self.isLate = isLate
        }

        /// Returns the message to publish.
        /// - Parameter isBacklog: whether it is sent later than it was accepted, or again.
        public func payload(isBacklog: Bool) -> [UInt8] {
            BatchEncoding.payload(of: body, at: position, isLive: !isBacklog && !isLate)
        }
    }

    /// The batches dropped because of the limits or a full disk.
    public struct Dropped: Sendable, Hashable {
        /// The numbers of the batches, by the index of the device.
        public var batches: [Int: [Epoch: SequenceSet]] = [:]
        /// The number of samples in them.
        public var samples: Int64 = 0
        /// The number of samples dropped because of their age.
        public var agedSamples: Int64 = 0

        /// Creates the result of a commit that drops nothing.
        public init() {}

        mutating func formUnion(_ other: Dropped) {
            for (device, numbers) in other.batches { batches[device, default: [:]].formUnion(numbers) }
            samples += other.samples
            agedSamples += other.agedSamples
        }

        func contains(_ entry: Entry) -> Bool {
            batches[entry.device]?[entry.position.epoch]?.contains(entry.position.seq) == true
        }
    }

    /// The result of writing batches.
    public struct Accepted: Sendable {
        /// The batches that were written and not dropped.
        public var entries: [Entry] = []
        /// The batches that were dropped because of the limits or a full disk.
        public var dropped = Dropped()
        /// The additions that could not be written.
        public var unwritten: [Addition] = []
        /// The reason why additions could not be written.
        public var error: OutboxError?
        /// Whether the disk was full.
        public var wasDiskFull = false
    }
}
