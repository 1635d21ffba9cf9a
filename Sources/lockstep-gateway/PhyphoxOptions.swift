import ArgumentParser
import LockstepCommandLine
import LockstepGateway
import LockstepModel

/// The options for phyphox.
struct PhyphoxOptions: ParsableArguments {
    static let names = ["phyphox"]

    @Option(
        help: """
            Read the measurements of the app phyphox on a phone with remote access: URL or URL=GROUP/DEVICE. May be \
            repeated.
            """)
    var phyphox: [String] = []

    /// Returns the phones, and adds their devices to the mapping.
    func phones(_ settings: Settings, _ mapping: inout DeviceMapping) throws -> [PhyphoxPhone] {
        let entries = try settings.values("phyphox", phyphox) { text in try Self.entry(text) }
        var phones: [PhyphoxPhone] = []
        for (phone, address) in entries {
            guard !phones.contains(phone) else { throw CommandFailure("--phyphox \(phone) occurs twice") }
            let name = phone.sender.description
            if let address { mapping.entries[name] = address }
            guard mapping.acceptsAny || mapping.entries[name] != nil else {
                throw CommandFailure(
                    "--phyphox \(phone) has no device: use \(phone)=GROUP/DEVICE, or --accept any")
            }
            phones.append(phone)
        }
        return phones
    }

    private static func entry(_ text: String) throws -> (phone: PhyphoxPhone, address: DeviceAddress?) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let phone = PhyphoxPhone(parts[0]) else {
            throw CommandFailure("'\(parts[0])' is not the URL of a phone: use http://HOST:PORT, as phyphox shows it")
        }
        return (phone, parts.count == 2 ? try DeviceMapping.address(parts[1]) : nil)
    }
}
