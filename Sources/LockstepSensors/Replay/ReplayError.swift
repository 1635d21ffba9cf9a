/// The error for a recording that cannot be read.
public struct ReplayError: Error, Hashable, CustomStringConvertible {
    /// The path of the file as given.
    public let file: String
    /// The number of the malformed line, from 1; nil if the error concerns the whole file.
    public let line: Int?
    /// The reason, without file and line.
    public let reason: String

    /// The file, the line if known, and the reason.
    public var description: String {
        line.map { "\(file), line \($0): \(reason)" } ?? "\(file): \(reason)"
    }
}
