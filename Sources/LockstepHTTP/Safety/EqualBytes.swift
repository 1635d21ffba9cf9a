/// Returns whether two texts are equal. It always compares all bytes of `candidate`.
package func hasEqualBytes(_ secret: [UInt8], _ candidate: [UInt8]) -> Bool {
    var difference = secret.count ^ candidate.count
    for index in candidate.indices {
        difference |= Int(candidate[index] ^ (secret.isEmpty ? 0 : secret[index % secret.count]))
    }
    return difference == 0
}
