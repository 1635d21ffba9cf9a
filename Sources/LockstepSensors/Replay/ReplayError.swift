/// A recording that cannot be played.
public struct ReplayError: Error, Hashable, CustomStringConvertible {
    /// The path of the file as given.
    public let file: String
    /// The number of the malformed line, from 1; nil if the error concerns the whole file.
    public let line: Int?
    /// The reason for the error.
    public let reason: String

    public var description: String {
        line.map { "\(file), line \($0): \(reason)" } ?? "\(file): \(reason)"
    }
}
