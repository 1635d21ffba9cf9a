import FoundationEssentials
import LockstepModel
import Testing

extension SequenceSet: ExpressibleByArrayLiteral {
    init(arrayLiteral elements: ClosedRange<Int64>...) { self.init(elements) }
}
