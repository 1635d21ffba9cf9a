import ArgumentParser
import LockstepCommandLine

struct UpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up", abstract: "Run a whole system on this machine: broker, collector, page and gateway.",
        usage: "lockstep up [<options>]",
        discussion: """
            Starts the programs, shows their logs as one, starts those again that fail, and stops them with Ctrl-C or \
            SIGTERM; another signal a second later kills them. None of these programs survives this command, however it ends; only a \
            command that a rule has just started may run on.

            If a broker listens on the port already, it is used. Otherwise mosquitto is started, with the \
            configuration that Lockstep ships: it accepts everyone on this machine.

            The folder has the store 'samples.db' and the data of broker and gateway. These files in it are used if \
            they exist:

              rules.yaml      rules of the collector, see docs/rules.md
              collector.yaml  settings of the collector
              serve.yaml      settings of the page
              gateway.yaml    settings of the gateway, which is started only with them, or
                              with --phones instead

            With --phones, a gateway serves a page with which phones and tablets join. It has a certificate of an \
            authority in the folder 'phones', which you install on each phone once: the steps are in docs/join.md. A QR \
            code of the address is shown if qrencode is installed.

            The programs do not use the environment variables LOCKSTEP_….

            With --demo, simulated devices run in a system of their own, on free ports and in a temporary folder \
            unless --folder is given; its store must have no other devices. At the end, after --seconds or Ctrl-C, \
            every accepted sample is looked up in the store; the exit status is 0 only if each is stored once. \
            SIGTERM ends a demo without this.

            EXAMPLES
              lockstep up
              lockstep up --folder lab --listen 127.0.0.1:8081
              lockstep up --phones
              lockstep up --demo 3 --faults --seconds 60
            """)

    @Option(help: "Folder of all data (default: lockstep in XDG_DATA_HOME, or ~/.local/share/lockstep).")
    var folder: String?

    @Option(
        help: "Use this broker, mqtt[s]://[user@]host[:port], instead of one on this machine; see also collector.yaml.")
    var broker: String?

    @Option(help: "Port of the broker on this machine (default: 1883).")
    var port: Int?

    @Flag(
        help: """
            Let the started broker listen on all addresses of this machine, without passwords and encryption: only in \
            a network in which you trust everyone.
            """)
    var network = false

    @Option(help: "Address and port of the page, as of 'lockstep-serve --listen' (default: 127.0.0.1:8080).")
    var listen: String?

    @Flag(help: "Start no page.")
    var noPage = false

    @Flag(help: "Let phones join with their browsers, by HTTPS and with a token.")
    var phones = false

    @Option(help: "Port for phones (default: 8443).")
    var phonesPort: Int?

    @Option(help: "PEM file with a certificate that phones trust already, for this machine's name.")
    var serverCertFile: String?

    @Option(help: "PEM file with the key of --server-cert-file.")
    var serverKeyFile: String?

    @Option(help: "Number of simulated devices, 1 to 50.")
    var demo: Int?

    @Flag(help: "Kill and disconnect parts of the demo, and start them again.")
    var faults = false

    @Option(help: "End after this number of seconds (default: run until Ctrl-C; with --faults 30).")
    var seconds: Int?

    @Flag(help: "Print the log as lines with one JSON object each.")
    var json = false

    func validate() throws {
        func check(_ isValid: Bool, _ text: String) throws { if !isValid { throw ValidationError(text) } }
        try check(demo.map { (1...50).contains($0) } ?? true, "--demo must be from 1 to 50")
        try check(!faults || demo != nil, "--faults is for --demo")
        try check(seconds.map { (1...31_536_000).contains($0) } ?? true, "--seconds must be from 1 to 31536000")
        try check(!faults || seconds ?? 30 >= 10, "--faults need --seconds 10 or more")
        try check(port.map { (1...65_535).contains($0) } ?? true, "--port must be from 1 to 65535")
        try check(
            phonesPort.map { (1...65_535).contains($0) } ?? true, "--phones-port must be from 1 to 65535")
        try check(
            phones || phonesPort == nil && serverCertFile == nil && serverKeyFile == nil,
            "--phones-port, --server-cert-file and --server-key-file are for --phones")
        try check(
            (serverCertFile == nil) == (serverKeyFile == nil),
            "--server-cert-file and --server-key-file must be used together")
        try check(!phones || demo == nil, "use either --phones or --demo, not both")
        try check(broker == nil || port == nil && !network, "--port and --network are for a broker on this machine")
        try check(broker == nil || demo == nil, "--demo has a broker of its own")
        try check(listen == nil || !noPage, "use either --listen or --no-page, not both")
    }

    func run() throws {
        let session = try UpSession(self)
        guard try session.run() else { throw ExitCode(1) }
    }
}
