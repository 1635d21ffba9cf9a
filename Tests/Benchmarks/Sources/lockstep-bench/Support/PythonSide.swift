import Foundation

/// A Python script that runs one round for each line on its input, and prints a speed in items per second.
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
                throw Failure("the Python script has ended: are its packages installed?")
            }
            line += String(decoding: more, as: UTF8.self)
        }
        guard let rate = Double(line.dropLast()) else { throw Failure("the Python script printed no number: \(line)") }
        return rate
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
