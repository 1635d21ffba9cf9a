import CLinux
import Glibc

/// A child process in a process group of its own, with its standard output and standard error in one pipe.
///
/// Not Foundation's `Process`, which crashes in a process with thousands of open files, blocks all other processes
/// while one that closes all inherited descriptors runs, and leaves the child alone when this process is killed.
struct ChildProcess {
    let id: Int32
    /// The descriptor to read the output from, without blocking. The caller closes it.
    let output: Int32

    /// Starts a program. It is killed when the calling thread ends, also if that is because this process was killed.
    /// - Parameters:
    ///   - environment: all variables.
    ///   - input: its standard input, which must fit into a pipe; nil for none.
    /// - Throws: ``ProgramError``.
    init(_ path: String, _ arguments: [String], environment: [String: String], input: String?) throws(ProgramError) {
        let output = try Self.openPipe()
        defer { close(output.write) }
        let input = try input.map(Self.filledPipe) ?? open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        let variables = environment.map { "\($0)=\($1)" }
        let (argv, envp) = (([path] + arguments).map { strdup($0) } + [nil], variables.map { strdup($0) } + [nil])
        defer { for text in argv + envp { free(text) } }
        var id: pid_t = 0
        let code = process_start(&id, path, argv, envp, input, output.write, SIGKILL)
        guard code == 0 else {
            if id > 0 { _ = Self.reap(id) }
            close(output.read)
            throw ProgramError("cannot start \(path): \(String(cString: strerror(code)))")
        }
        _ = fcntl(output.read, F_SETFL, O_NONBLOCK)
        self.id = id
        self.output = output.read
    }

    /// Removes a process that has ended from the table of the system.
    static func reap(_ id: Int32) -> ProgramEnd {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 { if errno != EINTR { return .exit(-1) } }
        let signal = status & 0x7F
        return signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(signal)
    }

    /// Returns the reading end of a pipe with a text, which must fit into its buffer.
    private static func filledPipe(_ text: String) throws(ProgramError) -> Int32 {
        let ends = try openPipe()
        defer { close(ends.write) }
        guard write(ends.write, text, text.utf8.count) == text.utf8.count else {
            close(ends.read)
            throw ProgramError("the input does not fit into a pipe")
        }
        return ends.read
    }

    private static func openPipe() throws(ProgramError) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard process_pipe(&ends) == 0 else { throw ProgramError("no pipe: \(String(cString: strerror(errno)))") }
        return (ends[0], ends[1])
    }
}
