import Foundation

/// A child process in a process group of its own, with its standard output and standard error in one pipe.
///
/// Not Foundation's `Process`, which crashes in a process with thousands of open files, and blocks all other processes
/// while one that closes all inherited descriptors runs.
struct ChildProcess {
    let id: Int32
    /// The descriptor to read the output from. The caller closes it.
    let output: Int32

    init(_ path: String, _ arguments: [String], environment: [String: String], input: String?) throws {
        let output = try Self.openPipe()
        defer { close(output.write) }
        let input = try input.map(Self.filledPipe)
        defer { if let input { close(input) } }

        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        if let input {
            posix_spawn_file_actions_adddup2(&files, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&files, output.write, 1)
        posix_spawn_file_actions_adddup2(&files, output.write, 2)
        try Self.addClosing(from: 3, to: &files)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The threads of a task pool block signals. A child that inherits that would never receive SIGTERM.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        let (argv, envp) = (([path] + arguments).map { strdup($0) } + [nil], variables.map { strdup($0) } + [nil])
        defer { for text in argv + envp { free(text) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, path, &files, &attributes, argv, envp)
        guard code == 0 else {
            close(output.read)
            throw ProgramError("cannot start \(path): \(String(cString: strerror(code)))")
        }
        self.id = id
        self.output = output.read
    }

    /// Removes a process that has ended from the table of the system.
    /// - Returns: the exit code, or the signal that killed it.
    static func reap(_ id: Int32) -> Int32 {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 { if errno != EINTR { return -1 } }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : signal
    }

    /// Closes all descriptors from `first` on in the child. Swift does not import this function of glibc.
    private static func addClosing(from first: Int32, to files: inout posix_spawn_file_actions_t) throws {
        typealias Function = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
        guard let function = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else {
            throw ProgramError("this C library cannot close the descriptors of a child")
        }
        _ = unsafeBitCast(function, to: Function.self)(&files, first)
    }

    /// Returns the reading end of a pipe with a text, which must fit into its buffer.
    private static func filledPipe(_ text: String) throws -> Int32 {
        let ends = try openPipe()
        defer { close(ends.write) }
        guard write(ends.write, text, text.utf8.count) == text.utf8.count else {
            close(ends.read)
            throw ProgramError("the input does not fit into a pipe")
        }
        return ends.read
    }

    private static func openPipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ProgramError("no pipe: \(String(cString: strerror(errno)))") }
        return (ends[0], ends[1])
    }
}
