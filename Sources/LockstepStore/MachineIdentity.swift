import Glibc
import LockstepModel

/// The identity of this machine. It stays the same after a restart.
enum MachineIdentity {
    private static let interfaces = "/sys/class/net"
    private static let serialNumber = "/sys/firmware/devicetree/base/serial-number"

    /// Returns the machine id, and the serial number of a board that has one, such as a Raspberry Pi: copies of an SD card
    /// have the same machine id. Without a machine id, as in some containers, it returns the hardware addresses of the
    /// network interfaces, or the name of the host if there are none.
    ///
    /// The addresses are no part of it if there is a machine id, because they change when an adapter is plugged in or
    /// replaced. The kernel's boot id cannot be read in the sandbox of the systemd unit.
    static func current() -> String {
        if let id = KernelFile.firstLine("/etc/machine-id") { return id + (KernelFile.firstLine(serialNumber) ?? "") }
        let addresses = hardwareAddresses()
        return addresses.isEmpty ? hostName() : addresses.joined(separator: " ")
    }

    /// The addresses of physical interfaces. Containers and VPNs create and delete virtual ones at any time.
    private static func hardwareAddresses() -> [String] {
        guard let folder = opendir(interfaces) else { return [] }
        defer { closedir(folder) }
        var addresses: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard !name.hasPrefix("."), access("\(interfaces)/\(name)/device", F_OK) == 0 else { continue }
            if let address = KernelFile.firstLine("\(interfaces)/\(name)/address") { addresses.append(address) }
        }
        return addresses.sorted()
    }

    static func hostName() -> String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "unknown" }
        return String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
