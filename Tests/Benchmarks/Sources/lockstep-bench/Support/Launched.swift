import Foundation

/// A program that runs while it is measured.
struct Launched {
    private let process = Process()
    let name: String

    /// - Parameter program: its path, or its name where it is in the PATH.
    init(_ program: String, _ arguments: [String], output: Any? = FileHandle.nullDevice) throws {
        name = String(program.split(separator: "/").last ?? "")
        process.executableURL = URL(fileURLWithPath: program.contains("/") ? program : "/usr/bin/env")
        process.arguments = program.contains("/") ? arguments : [program] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// The path of a program that is built beside this one.
    static func beside(_ name: String) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe").split(separator: "/").dropLast()
            .reduce("") { "\($0)/\($1)" } + "/" + name
    }

    var id: Int32 { process.processIdentifier }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    /// s of all its threads.
    func cpuTime() throws -> Double {
        let text = try status("stat")
        // The name in brackets may hold anything; user and system time are fields 14 and 15.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
            throw Failure("no times of \(name)")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Bytes, at its peak.
    func peakMemory() throws -> Int {
        let line = try status("status").split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
            throw Failure("no VmHWM of \(name)")
        }
        return kilobytes * 1024
    }

    private func status(_ file: String) throws -> String {
        guard process.isRunning else { throw Failure("\(name) has ended too early: does it start by hand?") }
        return try String(contentsOfFile: "/proc/\(process.processIdentifier)/\(file)", encoding: .utf8)
    }

    /// Runs a program to its end and returns what it printed.
    @discardableResult
    static func run(_ program: String, _ arguments: [String]) throws -> String {
        let output = Pipe()
        let launched = try Launched(program, arguments, output: output)
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        launched.process.waitUntilExit()
        guard launched.process.terminationStatus == 0 else {
            throw Failure("\(launched.name) ended with \(launched.process.terminationStatus)")
        }
        return text
    }

    /// Runs a program that prints its seconds, its seconds of CPU, and what it counted.
    static func time(_ program: String, _ arguments: [String]) throws -> Effort {
        let words = try run(program, arguments).split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard words.count == 3 else { throw Failure("\(program) printed no times") }
        return Effort(seconds: words[0], cpu: words[1], count: Int(words[2]))
    }
}

/// What it took to do something.
struct Effort {
    let seconds: Double
    /// Seconds of CPU.
    let cpu: Double
    /// How many of what is counted.
    let count: Int
    /// Things a second.
    var rate: Double { Double(count) / seconds }
    /// µs of CPU for one of them.
    var cpuEach: Double { cpu / Double(count) * 1e6 }
}
