import Foundation

/// A running child process, which can be measured.
struct Launched {
    private let process = Process()
    let name: String

    /// - Parameter program: The path of the program, or its name if it is in the PATH.
    init(_ program: String, _ arguments: [String], output: Any? = FileHandle.nullDevice) throws {
        name = String(program.split(separator: "/").last ?? "")
        process.executableURL = URL(fileURLWithPath: program.contains("/") ? program : "/usr/bin/env")
        process.arguments = program.contains("/") ? arguments : [program] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// The path of a program in the same build folder as this one.
    static func beside(_ name: String) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe").split(separator: "/").dropLast()
            .reduce("") { "\($0)/\($1)" } + "/" + name
    }

    var id: Int32 { process.processIdentifier }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    /// The CPU time of all threads so far, in s.
    func cpuTime() throws -> Double { try cpuTime(withChildren: false) }

    /// The CPU time of all threads so far and of the children that have ended, in s.
    func cpuTimeWithChildren() throws -> Double { try cpuTime(withChildren: true) }

    private func cpuTime(withChildren: Bool) throws -> Double {
        let text = try status("stat")
        // The name in brackets may contain spaces. User and system time are fields 14 and 15, those of children the next two.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        let ticks = fields.dropFirst(12).prefix(withChildren ? 4 : 2).compactMap { Double($0) }
        guard ticks.count >= 2 else { throw Failure("cannot read the CPU time of \(name)") }
        return ticks.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The peak memory so far, in bytes.
    func peakMemory() throws -> Int {
        let line = try status("status").split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
            throw Failure("cannot read the peak memory (VmHWM) of \(name)")
        }
        return kilobytes * 1024
    }

    /// - Throws: ``Failure`` if the process has ended.
    func checkRunning() throws {
        guard process.isRunning else { throw Failure("\(name) ended too early: try to start it by hand") }
    }

    private func status(_ file: String) throws -> String {
        try checkRunning()
        return try String(contentsOfFile: "/proc/\(process.processIdentifier)/\(file)", encoding: .utf8)
    }

    /// Runs a program until it ends, and returns its output.
    /// - Throws: ``Failure`` if its exit code is not 0.
    @discardableResult
    static func run(_ program: String, _ arguments: [String]) throws -> String {
        let output = Pipe()
        let launched = try Launched(program, arguments, output: output)
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        launched.process.waitUntilExit()
        guard launched.process.terminationStatus == 0 else {
            throw Failure("\(launched.name) failed with exit code \(launched.process.terminationStatus)")
        }
        return text
    }

    /// Runs a program that prints elapsed seconds, CPU seconds and a count.
    static func time(_ program: String, _ arguments: [String]) throws -> Effort {
        let words = try run(program, arguments).split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard words.count == 3 else { throw Failure("\(program) did not print its times") }
        return Effort(seconds: words[0], cpu: words[1], count: Int(words[2]))
    }
}

/// The time that a program needed for a number of items.
struct Effort {
    /// Elapsed time, in s.
    let seconds: Double
    /// CPU time, in s.
    let cpu: Double
    /// The number of items, such as rows or messages.
    let count: Int
    /// Items per second.
    var rate: Double { Double(count) / seconds }
    /// CPU time per item, in µs.
    var cpuEach: Double { cpu / Double(count) * 1e6 }
}
