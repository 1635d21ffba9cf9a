import LockstepCommandLine
import LockstepGateway
import LockstepModel

/// The settings for phyphox.
struct PhyphoxSettings: SettingGroup {
    let phyphox = Setting.list(
        "phyphox",
        """
        Read the measurements of the app phyphox on a phone with remote access: URL or URL=GROUP/DEVICE. May be \
        repeated.
        """, phone)
}

extension Options<PhyphoxSettings> {
    /// Returns the phones, and adds their devices to the mapping.
    func phones(_ settings: Settings, _ mapping: inout DeviceMapping) throws -> [PhyphoxPhone] {
        let entries = try settings.values(self.phyphox)
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
}

private func phone(_ text: String) throws -> (phone: PhyphoxPhone, address: DeviceAddress?) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let phone = PhyphoxPhone(parts[0]) else {
        throw CommandFailure("'\(parts[0])' is not the URL of a phone: use http://HOST:PORT, as phyphox shows it")
    }
    return (phone, parts.count == 2 ? try DeviceMapping.address(parts[1]) : nil)
}
