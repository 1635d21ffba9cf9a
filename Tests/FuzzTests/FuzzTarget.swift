import Foundation
import LockstepSensors
import Testing

/// A decoder, examples of what it reads, and what must hold for whatever it is given.
struct FuzzTarget: Sendable, CustomTestStringConvertible {
    let name: String
    /// What the decoder takes: damaged in all ways, most of it is not taken any more.
    let corpus: [[UInt8]]
    /// Gives these bytes to the decoder.
    let run: @Sendable ([UInt8]) throws -> Outcome

    enum Outcome {
        case refused
        case taken
        /// It took what its encoder would not write: how.
        case wrong(String)
    }

    var testDescription: String { name }

    /// A decoder of one value that has an encoder: what it takes, encoded, reads back as the same.
    static func codec<Value: Equatable & Sendable>(
        _ name: String, _ examples: [Value], encode: @escaping @Sendable (Value) -> [UInt8],
        decode: @escaping @Sendable (Data) throws -> Value
    ) -> FuzzTarget {
        FuzzTarget(name: name, corpus: examples.map(encode)) { bytes in
            guard let value = try? decode(Data(bytes)) else { return .refused }
            let encoded = encode(value)
            guard let again = try? decode(Data(encoded)) else {
                return .wrong("its own encoding is refused: \(String(decoding: encoded, as: UTF8.self))")
            }
            return again == value ? .taken : .wrong("read as \(value), and encoded and read again as \(again)")
        }
    }

    /// A reader of text without a writer: it must only not crash.
    static func reader(_ name: String, _ examples: [String], read: @escaping @Sendable (String) throws -> Void)
        -> FuzzTarget
    {
        FuzzTarget(name: name, corpus: examples.map { Array($0.utf8) }) { bytes in
            do {
                try read(String(decoding: bytes, as: UTF8.self))
                return .taken
            } catch {
                return .refused
            }
        }
    }
}

@Suite("Damaged input", .serialized)
struct FuzzTests {
    /// s for each decoder: a part of `LOCKSTEP_FUZZ_SECONDS`, which all of them share; else 3 in all.
    private static let seconds: Double = {
        let all = ProcessInfo.processInfo.environment["LOCKSTEP_FUZZ_SECONDS"].flatMap(Double.init) ?? 3
        return all / Double(FuzzTarget.all.count)
    }()

    @Test(
        "crashes no decoder, fills no memory, and is taken only as what could have been sent", arguments: FuzzTarget.all
    )
    func damaged(_ target: FuzzTarget) throws {
        for example in target.corpus {
            guard case .taken = try target.run(example) else {
                Issue.record("the example is not taken: \(String(decoding: example, as: UTF8.self))")
                return
            }
        }
        // The same each time, so that a change is held to what held before; another by LOCKSTEP_SEED looks further.
        let seed = ProcessInfo.processInfo.environment["LOCKSTEP_SEED"].flatMap(UInt64.init) ?? 1
        var mutator = Mutator(random: SeededGenerator(seed: seed))
        let before = residentBytes()
        let deadline = ContinuousClock.now + .seconds(Self.seconds)
        var (rounds, taken) = (0, 0)
        while ContinuousClock.now < deadline || rounds < 200 {
            rounds += 1
            let bytes = mutator.next(of: target.corpus)
            switch try target.run(bytes) {
            case .refused: break
            case .taken: taken += 1
            case .wrong(let how):
                Issue.record(
                    "LOCKSTEP_SEED=\(seed): \(how); given: \(String(decoding: bytes, as: UTF8.self).debugDescription)")
                return
            }
        }
        print("\(target.name): \(rounds) inputs, \(taken) of them taken (LOCKSTEP_SEED=\(seed))")
        #expect(residentBytes() - before < 200 << 20, "LOCKSTEP_SEED=\(seed)")
    }

    private func residentBytes() -> Int {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return (pages?.dropFirst().first.flatMap { Int($0) } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
