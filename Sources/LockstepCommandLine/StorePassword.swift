/// The settings of the password of the user of a store on a server.
public struct StorePasswordSettings: SettingGroup {
    /// The file with the password.
    public let file = Setting.file(
        "store-password-file",
        """
        File with the password of the ClickHouse user on its first line, readable only by its owner \
        (LOCKSTEP_STORE_PASSWORD also sets the password).
        """, SecretFile.password(in:))
    /// The password itself.
    public let password = Setting.secret("store-password")

    public init() {}
}

extension Options<StorePasswordSettings> {
    /// Returns the password from the file `store-password-file`, or from the environment; nil if there is none.
    /// - Throws: ``CommandFailure`` if a file with the password is unreadable or accessible to other users.
    public func read(_ settings: Settings) throws -> String? {
        if let password = try settings.value(self.file) { return password }
        let password = try settings.value(self.password)
        if password != nil, case .file(let path) = settings.place(of: self.password) { try SecretFile.check(path) }
        return password
    }
}
