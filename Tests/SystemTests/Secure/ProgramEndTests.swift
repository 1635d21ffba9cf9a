import Foundation
import LockstepTestSupport
import Testing

/// A program ends while another thread of it makes the TLS connection to the broker.
///
/// Clean-up at the end of the process would crash that thread. The crash depends on the moment, so that each program is
/// started several times (`LOCKSTEP_PROGRAM_ENDS`), and runs with a library whose clean-up would take long.
@Suite(
    "The end of a program during a TLS handshake",
    .enabled("mosquitto or clang is not installed") {
        guard Programs.isInstalled("mosquitto") else { return false }
        return await AdjustableClock.isAvailable
    })
struct ProgramEndTests {
    private static let starts =
        ProcessInfo.processInfo.environment["LOCKSTEP_PROGRAM_ENDS"].flatMap { Int($0) } ?? 4

    @Test("an agent without its source ends with an error, and without a crash")
    func missingSource() async throws {
        try await withSecureBroker { broker in
            let library = try await slowCleanUp(in: broker.folder)
            let none = broker.folder + "/none"
            let arguments =
                try arguments(of: "lockstep-agent", broker, source: "iio")
                + ["--sysfs-root", none, "--dev-root", none]
            for _ in 1...Self.starts {
                let agent = try broker.run(
                    Programs.built("lockstep-agent"), arguments, environment: ["LD_PRELOAD": library])
                #expect(await agent.waitForExit() == 1, "\(agent.text)")
                #expect(!agent.text.contains("clean-up"), "\(agent.text)")
            }
        }
    }

    @Test(
        "a program that is stopped early ends without a crash",
        arguments: ["lockstep-agent", "lockstep-collector", "lockstep-gateway", "lockstep-serve", "lockstep"])
    func earlySignal(name: String) async throws {
        try await withSecureBroker { broker in
            let library = try await slowCleanUp(in: broker.folder)
            let arguments = try arguments(of: name, broker)
            for start in 1...Self.starts {
                let program = try broker.run(Programs.built(name), arguments, environment: ["LD_PRELOAD": library])
                // The moment is spread over the start and the first attempt to connect.
                try await Task.sleep(for: .milliseconds(200 * start / Self.starts))
                program.signal(SIGTERM)
                // Before the program handles the signal, the signal ends it.
                let status = await program.waitForExit()
                #expect([0, SIGTERM, 128 + SIGTERM].contains(status), "\(program.text)")
                #expect(!program.text.contains("clean-up"), "\(program.text)")
            }
        }
    }

    @Test(
        "a program that cannot start ends with an error, and without a crash",
        arguments: ["lockstep-collector", "lockstep-gateway", "lockstep-serve"])
    func failingStart(name: String) async throws {
        try await withSecureBroker { broker in
            let library = try await slowCleanUp(in: broker.folder)
            let used = try LoopbackListener()
            defer { used.close() }
            var arguments = try arguments(of: name, broker)
            if name == "lockstep-collector" {
                arguments[arguments.count - 1] = "sqlite:\(broker.folder)/none/samples.db"
            } else {
                arguments += ["--listen", "\(used.port)"]
            }
            for _ in 1...Self.starts {
                let program = try broker.run(Programs.built(name), arguments, environment: ["LD_PRELOAD": library])
                #expect(await program.waitForExit() == 1, "\(program.text)")
            }
        }
    }

    private func arguments(of name: String, _ broker: SecureBroker, source: String = "simulate:1") throws -> [String] {
        let (user, others): (String, [String]) =
            switch name {
            case "lockstep-agent":
                (
                    "lab/walker",
                    [
                        "--group", "lab", "--device", "walker", "--source", source, "--outbox",
                        "\(broker.folder)/walker.outbox",
                    ]
                )
            case "lockstep-collector": ("collector", ["--store", "sqlite:\(broker.storePath)"])
            case "lockstep-gateway": ("gateway", ["--outbox", "\(broker.folder)/gateway.db"])
            case "lockstep-serve": ("serve", ["--listen", "\(try freePort())"])
            default: ("reader", ["watch"])
            }
        let connection = ["--broker", broker.url] + broker.credentials.options(broker.credentials.tls(user))
        return name == "lockstep" ? others + connection : connection + others
    }

    /// Compiles a library that reports the clean-up at the end of a process, and then keeps the process alive for a while:
    /// a thread that uses what another library has cleaned up crashes in this time.
    private func slowCleanUp(in folder: String) async throws -> String {
        let library = folder + "/slow.so"
        let source = folder + "/slow.c"
        try """
        #include <stdlib.h>
        #include <unistd.h>
        static void end(void) { write(2, "clean-up\\n", 9); usleep(300000); }
        // Registered first, so that it is called after the clean-up of all other libraries.
        __attribute__((constructor)) static void begin(void) { atexit(end); }
        """.write(toFile: source, atomically: true, encoding: .utf8)
        let compiled = try await RunningProgram.run(
            "/usr/bin/env", ["clang", "-shared", "-fPIC", "-O1", "-o", library, source])
        guard compiled.status == 0 else { throw ProgramError(compiled.text) }
        return library
    }
}
