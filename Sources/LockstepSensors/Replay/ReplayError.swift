/// Why a recording can't be played.
public struct ReplayError: Error, Hashable, CustomStringConvertible {
    /// The file as it was named.
    public let file: String
    /// The line of the file, from 1, where it is known.
    public let line: Int?
    /// What is wrong, in words.
    public let reason: String

    public var description: String {
        line.map { "\(file), line \($0): \(reason)" } ?? "\(file): \(reason)"
    }
}
