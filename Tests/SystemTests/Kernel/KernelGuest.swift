import Foundation
import LockstepTestSupport

/// A virtual machine with a Debian kernel, an agent and an emulated HID sensor hub: QEMU without hardware acceleration.
final class KernelGuest {
    /// The folder with `kernel` and `initrd`, which `deploy/test-kernel` creates; nil if it does not run these tests.
    static let folder = ProcessInfo.processInfo.environment["LOCKSTEP_KERNEL_GUEST"]

    private let machine: RunningProgram
    /// Copies what the guest answers, and the events of QEMU.
    private let answers: RunningProgram
    private let events: RunningProgram
    private let shell: FileHandle
    private let monitor: FileHandle
    private let consolePath: String
    private var commands = 0
    /// The size of the console at the last mark.
    private var seen = 0

    /// Boots the guest.
    init(in folder: String) throws {
        let guest = Self.folder ?? ""
        for name in ["shell", "monitor"] {
            for end in ["in", "out"] {
                guard mkfifo("\(folder)/\(name).\(end)", 0o600) == 0 else { throw ProgramError("mkfifo failed") }
            }
        }
        func open(_ name: String) throws -> FileHandle {
            // Also for reading, so that it does not wait for QEMU.
            let descriptor = Glibc.open("\(folder)/\(name).in", O_RDWR | O_CLOEXEC)
            guard descriptor >= 0 else { throw ProgramError("cannot open a pipe of QEMU") }
            return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }
        (shell, monitor) = (try open("shell"), try open("monitor"))
        answers = try RunningProgram("/bin/cat", ["\(folder)/shell.out"])
        events = try RunningProgram("/bin/cat", ["\(folder)/monitor.out"])
        consolePath = folder + "/console.log"
        machine = try RunningProgram(
            Programs.installed("qemu-system-x86_64") ?? "",
            [
                "-accel", "tcg,thread=multi", "-smp", "2", "-m", "1024", "-nodefaults", "-no-user-config", "-display",
                "none", "-kernel", guest + "/kernel", "-initrd", guest + "/initrd", "-append",
                "console=ttyS0 quiet loglevel=4 panic=-1", "-no-reboot", "-nic", "user,model=e1000", "-serial",
                "file:" + consolePath, "-chardev", "pipe,id=shell,path=\(folder)/shell", "-serial", "chardev:shell",
                "-chardev", "pipe,id=monitor,path=\(folder)/monitor", "-mon", "chardev=monitor,mode=control",
            ])
        monitor.write(Data("{\"execute\": \"qmp_capabilities\"}\n".utf8))
    }

    func stop() async {
        for program in [machine, answers, events] { await program.stop(SIGKILL) }
    }

    /// Waits until the guest has ended by itself.
    func waitForEnd() async -> Bool { await machine.waitForExit(within: .seconds(30)) != nil }

    // MARK: - Commands

    /// Sends a shell command to the guest, and returns its number.
    @discardableResult
    func send(_ command: String) -> Int {
        commands += 1
        shell.write(Data("\(commands) \(command)\n".utf8))
        return commands
    }

    /// Waits for the answer of a command.
    func answer(_ number: Int) async throws -> (status: Int, text: String) {
        var found: (status: Int, text: String)?
        _ = await eventually(within: .seconds(30)) {
            var lines: [Substring] = []
            for line in answers.text.replacing("\r", with: "").split(separator: "\n") {
                let words = line.split(separator: " ")
                guard words.count == 3, words[0] == "=", let answered = Int(words[1]), let status = Int(words[2]) else {
                    lines.append(line)
                    continue
                }
                if answered == number { found = (status, lines.joined(separator: "\n")) }
                lines = []
            }
            return found != nil
        }
        guard let found else { throw ProgramError("no answer of command \(number): \(console.suffix(3000))") }
        return found
    }

    /// Performs a shell command in the guest, and returns its output.
    @discardableResult
    func run(_ command: String) async throws -> String {
        let result = try await answer(send(command))
        guard result.status == 0 else { throw ProgramError("the guest cannot perform: \(command): \(result.text)") }
        return result.text
    }

    /// Gives a command to the emulated sensor hub.
    func hub(_ command: String) async throws { try await run("echo '\(command)' >/run/hub") }

    /// Gives a command to QEMU.
    func give(_ command: String) { monitor.write(Data("{\"execute\": \"\(command)\"}\n".utf8)) }

    var isSuspended: Bool { events.text.contains(#""SUSPEND""#) }

    // MARK: - Console

    private var bytes: Data { FileManager.default.contents(atPath: consolePath) ?? Data() }

    /// What the guest has logged since the last mark.
    var console: String { String(decoding: bytes.dropFirst(seen), as: UTF8.self) }

    /// From now on, ``console`` has only what follows.
    func mark() { seen = bytes.count }

    /// Whether a line since the last mark matches.
    func hasLogged(_ expression: String) -> Bool {
        guard let expression = try? Regex(expression) else { return false }
        return console.split(separator: "\n").contains { $0.contains(expression) }
    }
}
