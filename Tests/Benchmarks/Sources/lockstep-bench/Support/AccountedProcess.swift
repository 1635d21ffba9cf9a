import Foundation

/// A running child process whose disk writes and CPU time can be read until after its end.
///
/// Foundation's `Process` reaps a child as soon as it ends, and its accounts in /proc are lost.
struct AccountedProcess {
    /// The resources that a process has used since its start.
    struct Account {
        /// The bytes that the process caused to be written to disk: every page that it made dirty.
        var written: Int
        /// The bytes that the process passed to write calls, including those on sockets.
        var passed: Int
        /// The CPU time of all threads, in s.
        var cpu: Double

        static func - (later: Account, earlier: Account) -> Account {
            Account(
                written: later.written - earlier.written, passed: later.passed - earlier.passed,
                cpu: later.cpu - earlier.cpu)
        }
    }

    let id: Int32
    let name: String

    /// Starts a program without input and output.
    init(_ program: String, _ arguments: [String]) throws {
        name = String(program.split(separator: "/").last ?? "")
        let texts = [program] + arguments
        let environment = ProcessInfo.processInfo.environment.map { "\($0)=\($1)" }
        let (argv, envp) = (texts.map { strdup($0) } + [nil], environment.map { strdup($0) } + [nil])
        defer { for text in argv + envp { free(text) } }
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
        for descriptor in [Int32(1), 2] {
            posix_spawn_file_actions_addopen(&files, descriptor, "/dev/null", O_WRONLY, 0)
        }
        var id: pid_t = 0
        let code = posix_spawn(&id, program, &files, nil, argv, envp)
        guard code == 0 else { throw Failure("cannot start \(program): \(String(cString: strerror(code)))") }
        self.id = id
    }

    /// The resources used so far.
    func account() throws -> Account {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(id, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            throw Failure("\(name) ended too early: try to start it by hand")
        }
        return try account(cpu: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }

    /// Ends the process with SIGTERM and returns the resources that it used in total.
    /// - Throws: ``Failure`` if its exit code is not 0.
    func stop() throws -> Account {
        kill(id, SIGTERM)
        var info = siginfo_t()
        // WNOWAIT: the accounts stay readable until the process is reaped.
        guard waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) == 0 else { throw Failure("cannot wait for \(name)") }
        var account = try account(cpu: 0)
        var (status, usage) = (Int32(), rusage())
        guard wait4(id, &status, 0, &usage) == id else { throw Failure("cannot wait for \(name)") }
        guard status == 0 else { throw Failure("\(name) failed, status \(status): try to start it by hand") }
        account.cpu = [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
        return account
    }

    /// Kills the process if it is still running.
    func discard() {
        // A process that was stopped is no longer a child, so that its id cannot be that of another process.
        guard waitpid(id, nil, WNOHANG) == 0 else { return }
        kill(id, SIGKILL)
        waitpid(id, nil, 0)
    }

    private func account(cpu: Double) throws -> Account {
        let text = try String(contentsOfFile: "/proc/\(id)/io", encoding: .utf8)
        func value(_ name: String) throws -> Int {
            let line = text.split(separator: "\n").first { $0.hasPrefix(name + ": ") }
            guard let value = line.flatMap({ Int($0.dropFirst(name.utf8.count + 2)) }) else {
                throw Failure("cannot read \(name) from /proc/\(id)/io")
            }
            return value
        }
        return Account(written: try value("write_bytes"), passed: try value("wchar"), cpu: cpu)
    }
}
