import FoundationEssentials
import Glibc

/// Finds programs and files of an installation or of a checkout.
public enum ProgramLocation {
    /// The path of this program; empty if it is unknown.
    public static let own: String = {
        var path = [UInt8](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count)
        return String(decoding: path[..<max(0, count)], as: UTF8.self)
    }()

    /// Returns the path of a program of Lockstep, or nil if it is not installed. The program beside this one has the same
    /// version; one in PATH may have another.
    public static func lockstep(_ name: String) -> String? {
        let beside = folder(of: own) + "/" + name
        return isExecutable(beside) ? beside : system(name)
    }

    /// Returns the path of a program of the system, or nil if it is not installed. On Debian, servers such as mosquitto are
    /// not in the PATH of ordinary users.
    public static func system(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return (path.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin", "/usr/local/sbin"])
            .map { "\($0)/\(name)" }.first(where: isExecutable)
    }

    /// Returns the path of a file, or nil if there is none.
    /// - Parameters:
    ///   - installed: its path below `share/lockstep`, beside the folder of this program.
    ///   - source: its path in a checkout that holds this program.
    public static func file(installed: String, source: String) -> String? {
        var folder = folder(of: own)
        let shared = Self.folder(of: folder) + "/share/lockstep/" + installed
        if access(shared, R_OK) == 0 { return shared }
        while !folder.isEmpty {
            if access(folder + "/" + source, R_OK) == 0 { return folder + "/" + source }
            folder = Self.folder(of: folder)
        }
        return nil
    }

    private static func isExecutable(_ path: String) -> Bool { access(path, X_OK) == 0 }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }
}
