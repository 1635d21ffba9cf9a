import FoundationEssentials
import Glibc
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepSystem

/// Which programs `lockstep up` starts, and with which arguments. A value without effects.
struct UpPlan {
    var folder: String
    /// The address of the broker for the programs on this machine.
    var broker: String
    /// The address that the page listens on; nil for that of its settings.
    var listen: String?
    var hasPage = true
    var devices = 0
    /// The device that reaches the broker by another address, and this address.
    var relay: (device: String, broker: String)?
    /// The port for phones, and what their gateway needs; nil for no phones.
    var phones: (port: Int, access: PhoneAccess)?
    var isJSON = false
    var exists: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }

    var store: String { "sqlite:\(folder)/samples.db" }
    var deviceNames: [String] { (0..<devices).map { "\(Self.devicePrefix)\($0 + 1)" } }
    private static let devicePrefix = "demo-"
    var hasGateway: Bool { phones != nil || exists("\(folder)/gateway.yaml") }
    /// Returns whether a device has the name of a simulated one, of this demo or another one.
    static func isSimulated(_ address: DeviceAddress) -> Bool {
        let name = address.device.rawValue
        return address.group == .standard && name.hasPrefix(devicePrefix)
            && UInt(name.dropFirst(devicePrefix.count)) != nil
    }
    func outbox(of device: String) -> String { "\(folder)/\(device).outbox" }

    /// Returns the parts other than the broker.
    /// - Throws: ``CommandFailure`` for a program that is not installed.
    func parts(program: (String) -> String?) throws -> [SystemPart] {
        func part(
            _ name: String, _ program: String, _ arguments: [String], stage: SystemPart.Stage = .services
        ) -> SystemPart {
            let settings = exists("\(folder)/\(name).yaml") ? ["--config", "\(folder)/\(name).yaml"] : []
            return SystemPart(name, program: program, arguments + settings + logOptions, stage: stage)
        }
        func find(_ name: String, else advice: String) throws -> String {
            guard let path = program(name) else {
                throw CommandFailure("\(name) is not installed: \(advice)")
            }
            return path
        }
        var parts: [SystemPart] = []
        let rules = exists("\(folder)/rules.yaml") ? ["--rules", "\(folder)/rules.yaml"] : []
        parts.append(
            part(
                "collector", try find("lockstep-collector", else: "install it beside lockstep"),
                ["--broker", broker, "--store", store] + rules, stage: .collector))
        if hasPage {
            let serve = try find("lockstep-serve", else: "install it beside lockstep, or add --no-page")
            var page = part(
                "serve", serve,
                ["--broker", broker, "--store", store] + (listen.map { ["--listen", $0] } ?? [])
                    + (phones.map { ["--join-url", $0.access.page] } ?? []))
            page.name = "page"
            parts.append(page)
        }
        if hasGateway {
            guard phones == nil || !exists("\(folder)/gateway.yaml") else {
                throw CommandFailure(
                    "\(folder)/gateway.yaml has the settings of the gateway, which --phones would replace: leave out "
                        + "--phones, or remove the file")
            }
            let gateway = try find(
                "lockstep-gateway", else: "install it beside lockstep, or leave out gateway.yaml and --phones")
            var arguments = ["--broker", broker, "--outbox", "\(folder)/gateway.db"]
            if let (port, access) = phones {
                arguments += ["--accept", "any", "--listen", "0.0.0.0:\(port)", "--users-file", access.tokenFile]
                arguments += ["--server-cert-file", access.certificate.certificateFile]
                arguments += ["--server-key-file", access.certificate.keyFile]
                if let authority = access.authority { arguments += ["--authority-file", authority] }
            }
            parts.append(part("gateway", gateway, arguments))
        }
        let agent = devices > 0 ? try find("lockstep-agent", else: "install it beside lockstep") : ""
        for (index, device) in deviceNames.enumerated() {
            parts.append(
                SystemPart(
                    device, program: agent,
                    [
                        "--broker", relay?.device == device ? relay?.broker ?? broker : broker, "--device", device,
                        "--source", "simulate:\(index + 1)", "--outbox", outbox(of: device), "--journal",
                    ] + logOptions, stage: .devices))
        }
        return parts
    }

    private var logOptions: [String] { isJSON ? ["--log-format", "json"] : [] }

    /// Returns the arguments of `lockstep verify` that look up every accepted sample of the simulated devices.
    var verification: [String] {
        ["verify", "--store", store]
            + deviceNames.flatMap { ["--device", $0, "--journal", "\($0)=\(outbox(of: $0))"] }
    }

    static func defaultFolder(_ environment: [String: String]) throws -> String {
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/lockstep" }
        guard let home = environment["HOME"], home.hasPrefix("/") else {
            throw CommandFailure("there is no home folder: use --folder")
        }
        return home + "/.local/share/lockstep"
    }

    /// Returns the store in the default folder, or nil if there is none.
    static func defaultStore(_ environment: [String: String]) -> StoreAddress? {
        guard let folder = try? defaultFolder(environment), access(folder + "/samples.db", F_OK) == 0 else {
            return nil
        }
        return try? StoreAddress("sqlite:\(folder)/samples.db")
    }
}
