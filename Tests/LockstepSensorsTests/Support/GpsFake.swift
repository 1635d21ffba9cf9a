import Foundation
import LockstepSensors
import LockstepTestSupport
import SensorTestSupport

/// A gpsfake process with its own gpsd, which plays a receiver's log repeatedly.
struct GpsFake {
    static let program = "/usr/bin/gpsfake"
    static var isInstalled: Bool { access(program, X_OK) == 0 && access("/usr/sbin/gpsd", X_OK) == 0 }

    /// Runs gpsfake during `body`, which starts after the first fix.
    ///
    /// In about one of fifty starts, gpsfake 3.22 does not pass its receiver to gpsd. It is then restarted.
    static func with<Result>(
        log: String, port: UInt16, delay: Double, sink: RecordingSink, body: () async throws -> Result
    ) async throws -> Result {
        for attempt in 1...4 {
            let fake = try GpsFake(log: log, port: port, delay: delay)
            defer { fake.stop() }
            let isReady = await sink.wait(seconds: 20) { $0.statuses.last == .running }
            if isReady || attempt == 4 { return try await body() }
        }
        throw FileError(reason: "gpsfake does not start")
    }

    private let process: pid_t
    /// The folder of gpsfake's socket.
    private let folder: String

    private init(log: String, port: UInt16, delay: Double) throws {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // In its own process group, so that its gpsd can be stopped with it.
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor: Int32 in 0...2 {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        func copy(_ text: String) -> UnsafeMutablePointer<CChar>? { strdup(text) }
        // Limited by `timeout` in case the test process is killed.
        let command = ["timeout", "--kill-after=2", "150", Self.program, "-c", "\(delay)", "-q", "-P", "\(port)", log]
        let arguments = command.map(copy)
        folder = FileManager.default.temporaryDirectory.path + "/lockstep-gpsfake-\(port)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=\(folder)"].map(copy)
        defer { for text in arguments + environment { free(text) } }
        var process: pid_t = 0
        let code = posix_spawn(
            &process, "/usr/bin/timeout", &actions, &attributes, arguments + [nil], environment + [nil])
        guard code == 0 else { throw FileError(reason: "gpsfake: \(String(cString: strerror(code)))") }
        self.process = process
    }

    private func stop() {
        kill(-process, SIGTERM)
        kill(-process, SIGKILL)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        try? FileManager.default.removeItem(atPath: folder)
    }
}

/// A TCP server on a free port of this machine that accepts connections and sends nothing.
struct SilentServer {
    private let listener: LoopbackListener
    var port: UInt16 { listener.port }
    private var descriptor: Int32 { listener.descriptor }

    init() throws { listener = try LoopbackListener() }

    /// Waits until a client has connected.
    func waitForClient() async throws { try await awaitInput(of: descriptor, else: "no client connected") }

    /// Waits until a client has connected and sent something.
    /// - Returns: the connection, which the caller must close.
    func waitForRequest() async throws -> Int32 {
        try await waitForClient()
        let connection = accept(descriptor, nil, nil)
        try await awaitInput(of: connection, else: "the client sent nothing")
        return connection
    }

    /// Waits until a client has connected and closed its connection.
    func waitForDisconnect() async throws {
        try await waitForClient()
        let connection = accept(descriptor, nil, nil)
        defer { close(connection) }
        let isClosed = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var bytes = [UInt8](repeating: 0, count: 256)
                var limit = timeval(tv_sec: 120, tv_usec: 0)
                setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
                var count = 1
                while count > 0 { count = recv(connection, &bytes, bytes.count, 0) }
                continuation.resume(returning: count == 0)
            }
        }
        guard isClosed else { throw FileError(reason: "the client did not close the connection") }
    }
}
