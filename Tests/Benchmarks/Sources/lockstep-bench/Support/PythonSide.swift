import Foundation

/// A Python script that does one round for each line it is sent, and answers with things a second.
final class PythonSide {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(python: String, script: String, arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = [script] + arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    func run() throws -> Double {
        try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
        var line = ""
        while !line.hasSuffix("\n") {
            guard let more = try output.fileHandleForReading.read(upToCount: 1), !more.isEmpty else {
                throw Failure("the Python side has ended: does it have the packages that it needs?")
            }
            line += String(decoding: more, as: UTF8.self)
        }
        guard let rate = Double(line.dropLast()) else { throw Failure("the Python side says \(line)") }
        return rate
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
