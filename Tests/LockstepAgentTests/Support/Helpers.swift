import FoundationEssentials
import LockstepModel
import Testing

/// 2023-11-14T22:13:20Z.
let start: Int64 = 1_700_000_000_000_000

/// A moment `boot` µs after the machine's start; the wall clock runs `offset` µs ahead of ``start``.
func moment(boot: Int64, offset: Int64 = 0, asleep: Int64 = 0) -> Moment {
    Moment(wall: Timestamp(microseconds: start + boot + offset), boot: boot, awake: boot - asleep)
}

/// A block with one sample a time; x counts up from `x`.
func block(_ times: some Sequence<Int64>, _ stream: SensorStream = .accelerometer, x: Double = 0) -> SampleBlock {
    var block = SampleBlock(stream: stream)
    for (index, time) in times.enumerated() {
        var values = stream.columns.map { _ in 0.5 }
        values[0] = x + Double(index)
        if stream == .steps { values[1] = 1 }
        block.append(time: Timestamp(microseconds: time), values: values)
    }
    return block
}

extension SequenceSet: ExpressibleByArrayLiteral {
    init(arrayLiteral elements: ClosedRange<Int64>...) { self.init(elements) }
}

/// Gives each test a folder of its own and removes it.
struct TemporaryFolder: TestTrait, SuiteTrait, TestScoping {
    /// The folder of the test that runs.
    @TaskLocal static var path = ""

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/lockstep-agent-\(UInt64.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await Self.$path.withValue(path, operation: function)
    }
}

extension Trait where Self == TemporaryFolder {
    static var temporaryFolder: TemporaryFolder { TemporaryFolder() }
}
