import Glibc
import LockstepModel

/// The folder with the files of a page that a program serves.
public enum PageFolder {
    /// Returns the folder of the installed page or of the checkout that holds this program, or nil if there is none.
    /// - Parameters:
    ///   - installed: the name of the folder below `share/lockstep`, beside the folder of the installed program.
    ///   - source: the path of the folder in a checkout, such as `Sources/LockstepServe/Page`.
    public static func find(installed: String, source: String) -> String? {
        let file = "/index.html"
        return ProgramLocation.file(installed: installed + file, source: source + file)
            .map { String($0.dropLast(file.count)) }
    }

    /// Returns the folder if it has the files of a page.
    /// - Throws: ``CommandFailure``.
    public static func check(_ folder: String) throws -> String {
        guard hasPage(folder) else {
            throw CommandFailure("\(folder) has no file index.html: name the folder with the files of the page")
        }
        return folder
    }

    private static func hasPage(_ folder: String) -> Bool { access(folder + "/index.html", R_OK) == 0 }
}

/// The settings of a server's certificate.
public struct CertificateSettings: SettingGroup {
    /// The certificate.
    public let certificate = Setting.file(
        "server-cert-file", "PEM file with the certificate of the server and its intermediate certificates.")
    /// The private key.
    public let key = Setting.file(
        "server-key-file", "PEM file with the private key of the server, readable only by its owner.", SecretFile.check)

    public init() {}
}

extension Options<CertificateSettings> {
    /// Returns the paths of the PEM files, or nil for a server without TLS.
    /// - Throws: ``CommandFailure`` if only one of the two is given, or others can read the key.
    public func files(_ settings: Settings) throws -> (certificateFile: String, keyFile: String)? {
        switch (try settings.value(self.certificate), try settings.value(self.key)) {
        case (let certificate?, let key?): return (certificate, key)
        case (nil, nil): return nil
        default: throw CommandFailure("--server-cert-file and --server-key-file must be used together")
        }
    }
}

/// Raises the limit of open files of this process to what the system allows, at most 65,536: each connection of a server
/// needs one.
public func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, 65_536)
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
