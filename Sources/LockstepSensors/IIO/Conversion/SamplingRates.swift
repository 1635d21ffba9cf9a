import Glibc

/// The rates that a sensor supports, from `…sampling_frequency_available`, in samples/s.
package enum SamplingRates: Sendable, Hashable {
    /// A list in ascending order.
    case list([Choice])
    /// From `least` to `greatest` in steps of `step`; a step of 0 allows any rate.
    case range(least: Double, step: Double, greatest: Double)

    /// A rate and the kernel's text for it.
    package struct Choice: Sendable, Hashable {
        package let rate: Double
        package let text: String

        package init(rate: Double, text: String) {
            self.rate = rate
            self.text = text
        }
    }

    /// Parses a list such as `25 50 100`, or a range `[least step greatest]`; nil if there is no rate above 0.
    package init?(_ text: String) {
        let isRange = text.hasPrefix("[") && text.hasSuffix("]")
        let words = (isRange ? text.dropFirst().dropLast() : text[...]).split(whereSeparator: \.isWhitespace)
        let numbers = words.map { Double(String($0)) ?? .nan }
        guard numbers.allSatisfy({ $0.isFinite && $0 >= 0 }) else { return nil }
        if isRange {
            guard numbers.count == 3, numbers[2] > 0, numbers[0] <= numbers[2] else { return nil }
            // 0 is not a usable rate.
            let least = numbers[0] > 0 ? numbers[0] : min(numbers[1] > 0 ? numbers[1] : 0.001, numbers[2])
            self = .range(least: least, step: numbers[1], greatest: numbers[2])
        } else {
            let choices = zip(numbers, words).filter { $0.0 > 0 }.map { Choice(rate: $0.0, text: String($0.1)) }
            guard !choices.isEmpty else { return nil }
            self = .list(choices.sorted { $0.rate < $1.rate })
        }
    }

    /// The slowest and the fastest rate.
    package var bounds: ClosedRange<Double> {
        switch self {
        case .list(let choices): (choices.first?.rate ?? 0)...(choices.last?.rate ?? 0)
        case .range(let least, _, let greatest): least...greatest
        }
    }

    /// Returns the lowest rate at or above `requested` samples/s, or the fastest rate if there is none.
    package func choose(_ requested: Double) -> Choice? {
        switch self {
        case .list(let choices): return choices.first { $0.rate >= requested } ?? choices.last
        case .range(let least, let step, let greatest):
            var rate = min(max(requested, least), greatest)
            if step > 0, rate < greatest { rate = min(least + ((rate - least) / step).rounded(.up) * step, greatest) }
            return Choice(rate: rate, text: Self.text(of: rate))
        }
    }

    /// Formats a rate for the kernel: up to six decimals, no exponent.
    package static func text(of rate: Double) -> String {
        let millionths = Int64((min(rate, 1e12) * 1e6).rounded())
        let (whole, rest) = millionths.quotientAndRemainder(dividingBy: 1_000_000)
        if rest == 0 { return "\(whole)" }
        var decimals = String(1_000_000 + rest).dropFirst()
        while decimals.last == "0" { decimals = decimals.dropLast() }
        return "\(whole).\(decimals)"
    }
}
