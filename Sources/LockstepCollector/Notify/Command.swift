import Glibc

/// Runs a program with its arguments, without a shell.
func runCommand(_ arguments: [String], within limit: Duration = .seconds(10)) -> Transfer.Outcome {
    var attributes = posix_spawnattr_t()
    var actions = posix_spawn_file_actions_t()
    posix_spawnattr_init(&attributes)
    posix_spawn_file_actions_init(&actions)
    defer {
        posix_spawnattr_destroy(&attributes)
        posix_spawn_file_actions_destroy(&actions)
    }
    // The threads of Dispatch block signals. A program that inherits that cannot be ended.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    let texts: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for text in texts { free(text) } }
    var pid: pid_t = 0
    let code = posix_spawn(&pid, arguments[0], &actions, &attributes, texts, environ)
    guard code == 0 else { return .failed("cannot run \(arguments[0]): \(String(cString: strerror(code)))") }
    let deadline = ContinuousClock.now + limit
    var status: Int32 = 0
    while waitpid(pid, &status, WNOHANG) == 0 {
        guard ContinuousClock.now < deadline else {
            kill(pid, SIGKILL)
            waitpid(pid, &status, 0)
            return .failed("\(arguments[0]) did not end within \(limit)")
        }
        usleep(10_000)
    }
    let isSuccess = status == 0
    return isSuccess ? .success : .failed("\(arguments[0]) ended with the status \(status >> 8 & 0xFF)")
}
