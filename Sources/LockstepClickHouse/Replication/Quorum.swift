/// The number of replicas that must hold a row before its insert is answered. Asking for one makes the tables replicated.
public enum Quorum: Hashable, Sendable {
    /// More than half of all replicas.
    case majority
    /// A number of replicas. With less than a majority, the loss of that many replicas loses acknowledged samples.
    case replicas(Int)

    /// Parses `majority`, or a number from 1 to 9.
    public init?(_ text: String) {
        if text == "majority" {
            self = .majority
        } else if let number = Int(text), (1...9).contains(number) {
            self = .replicas(number)
        } else {
            return nil
        }
    }

    /// Returns the number of replicas of `count` that must hold a row.
    func number(of count: Int) -> Int {
        switch self {
        case .majority: count / 2 + 1
        case .replicas(let number): number
        }
    }
}
