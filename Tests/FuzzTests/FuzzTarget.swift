import Foundation
import LockstepSensors
import Testing

/// A decoder, examples of valid input, and the properties that must hold for any input.
struct FuzzTarget: Sendable, CustomTestStringConvertible {
    let name: String
    /// Valid inputs, from which damaged ones are made.
    let corpus: [[UInt8]]
    /// Runs the decoder with an input.
    let run: @Sendable ([UInt8]) throws -> Outcome

    enum Outcome {
        case rejected
        case accepted
        /// The decoded value does not survive encoding and decoding. Carries a description.
        case wrong(String)
    }

    var testDescription: String { name }

    /// A decoder that has an encoder: an accepted value must be equal after encoding and decoding it.
    static func codec<Value: Equatable & Sendable>(
        _ name: String, _ examples: [Value], encode: @escaping @Sendable (Value) -> [UInt8],
        decode: @escaping @Sendable (Data) throws -> Value
    ) -> FuzzTarget {
        FuzzTarget(name: name, corpus: examples.map(encode)) { bytes in
            guard let value = try? decode(Data(bytes)) else { return .rejected }
            let encoded = encode(value)
            guard let again = try? decode(Data(encoded)) else {
                return .wrong("its own encoding is rejected: \(String(decoding: encoded, as: UTF8.self))")
            }
            return again == value ? .accepted : .wrong("decoded as \(value), but as \(again) after encoding it again")
        }
    }

    /// A decoder of text that has no encoder: it must not crash.
    static func reader(_ name: String, _ examples: [String], read: @escaping @Sendable (String) throws -> Void)
        -> FuzzTarget
    {
        FuzzTarget(name: name, corpus: examples.map { Array($0.utf8) }) { bytes in
            do {
                try read(String(decoding: bytes, as: UTF8.self))
                return .accepted
            } catch {
                return .rejected
            }
        }
    }
}

@Suite("Fuzz tests", .serialized)
struct FuzzTests {
    /// Seconds per decoder. All decoders together run for `LOCKSTEP_FUZZ_SECONDS`, by default 3 s.
    private static let seconds: Double = {
        let all = ProcessInfo.processInfo.environment["LOCKSTEP_FUZZ_SECONDS"].flatMap(Double.init) ?? 3
        return all / Double(FuzzTarget.all.count)
    }()

    @Test(
        "damaged input crashes no decoder, does not exhaust memory, and is accepted only as a valid value",
        arguments: FuzzTarget.all
    )
    func damaged(_ target: FuzzTarget) throws {
        for example in target.corpus {
            guard case .accepted = try target.run(example) else {
                Issue.record("a valid example is rejected: \(String(decoding: example, as: UTF8.self))")
                return
            }
        }
        // A fixed seed makes results reproducible. LOCKSTEP_SEED sets another one.
        let seed = ProcessInfo.processInfo.environment["LOCKSTEP_SEED"].flatMap(UInt64.init) ?? 1
        var mutator = Mutator(random: SeededGenerator(seed: seed))
        let before = residentBytes()
        let deadline = ContinuousClock.now + .seconds(Self.seconds)
        var (rounds, accepted) = (0, 0)
        // Of some decoders' inputs, one in a hundred is accepted.
        while ContinuousClock.now < deadline || rounds < 200 || (accepted == 0 && rounds < 5000) {
            rounds += 1
            let bytes = mutator.next(of: target.corpus)
            switch try target.run(bytes) {
            case .rejected: break
            case .accepted: accepted += 1
            case .wrong(let description):
                let input = String(decoding: bytes, as: UTF8.self).debugDescription
                Issue.record("LOCKSTEP_SEED=\(seed): \(description); input: \(input)")
                return
            }
        }
        // Otherwise, the properties of accepted values were not tested.
        #expect(accepted > 0, "LOCKSTEP_SEED=\(seed)")
        print("\(target.name): \(rounds) inputs, \(accepted) accepted (LOCKSTEP_SEED=\(seed))")
        #expect(residentBytes() - before < 200 << 20, "LOCKSTEP_SEED=\(seed)")
    }

    private func residentBytes() -> Int {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return (pages?.dropFirst().first.flatMap { Int($0) } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
