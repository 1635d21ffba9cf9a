import FoundationEssentials
import Glibc

/// The folder of the real recordings beside the checkout (`../shared/data`); nil if it is missing.
public let sharedData: String? = {
    var folder = Substring(#filePath)
    while let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
        folder = folder[..<slash]
        let candidate = folder + "/shared/data"
        if access(candidate + "/walks/truth.csv", R_OK) == 0 { return String(candidate) }
    }
    return nil
}()

/// Returns the path of a file in the folder of the real recordings. Tests that use it are skipped without recordings.
public func sharedFile(_ name: String) -> String { (sharedData ?? "shared/data is missing") + "/" + name }

/// A failure of a test's files, sockets or processes.
public struct FileError: Error {
    /// What failed, and why.
    public let reason: String

    /// Creates an error.
    public init(reason: String) { self.reason = reason }
}

/// Returns the content of a text file.
public func contents(of path: String) throws -> String {
    guard let file = fopen(path, "r") else { throw FileError(reason: "\(path): \(String(cString: strerror(errno)))") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
    return String(decoding: bytes, as: UTF8.self)
}

/// Passes a file with this text to `body` and removes it afterwards.
public func withFile<Result>(_ text: String, body: (String) async throws -> Result) async throws -> Result {
    let path = FileManager.default.temporaryDirectory.path + "/lockstep-test-\(UUID().uuidString).csv"
    defer { unlink(path) }
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    return try await body(path)
}

/// Returns the rows of a ground truth table (CSV) as dictionaries by header.
public func truthTable(_ name: String) throws -> [[String: String]] {
    let lines = try contents(of: sharedFile(name)).split(whereSeparator: \.isNewline)
    let fields = { (line: Substring) in line.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    let header = fields(lines[0])
    return lines.dropFirst().map { Dictionary(uniqueKeysWithValues: zip(header, fields($0))) }
}
