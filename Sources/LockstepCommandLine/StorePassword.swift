/// The password of the user of a store on a server.
public enum StorePassword {
    /// Returns the password from the file `store-password-file`, or from the environment; nil if there is none.
    /// - Parameter file: the value of the option `--store-password-file`.
    /// - Throws: ``CommandFailure`` if a file with the password is unreadable or accessible to other users.
    public static func read(_ file: String?, _ settings: Settings) throws -> String? {
        if let password = try settings.value("store-password-file", file, parse: SecretFile.password(in:)) {
            return password
        }
        let password = try settings.value("store-password", nil) { $0 }
        if password != nil, case .file(let path) = settings.place(of: "store-password", nil) {
            try SecretFile.check(path)
        }
        return password
    }
}
