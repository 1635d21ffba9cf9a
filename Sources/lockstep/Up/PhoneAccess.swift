import FoundationEssentials
import LockstepCommandLine
import LockstepModel
import LockstepSystem

/// What `lockstep up --phones` needs: a certificate that phones can trust, and a token.
struct PhoneAccess {
    /// The certificate and key of the gateway, as PEM files.
    let certificate: (certificateFile: String, keyFile: String)
    /// The certificate that phones have to install; nil for a certificate of the user, which they trust already.
    let authority: String?
    let tokenFile: String
    /// The address of the gateway, and that of its page with the token.
    let page: String
    var address: String { page + "/join#token=" + token }
    let token: String
}

extension PhoneAccess {
    /// Creates what is missing in a folder.
    /// - Parameter files: the certificate and key of the user; nil for one of an authority in the folder.
    init(folder: String, port: Int, files: (certificateFile: String, keyFile: String)?) throws {
        var certificates = try CertificateFolder(folder)
        certificates.report = { _ in }
        let tokenFile = folder + "/users"
        try certificates.makeSecret(tokenFile, prefix: "phones ")
        let line = try String(contentsOfFile: tokenFile, encoding: .utf8).split(separator: "\n").first
        let token = line?.split(separator: " ").last.map(String.init) ?? ""
        if let files {
            self.init(
                certificate: files, authority: nil, tokenFile: tokenFile,
                page: "https://\(OwnAddress.name):\(port)", token: token)
            return
        }
        try certificates.makeAuthority()
        let names = [OwnAddress.name, OwnAddress.name + ".local"] + OwnAddress.all + ["localhost", "127.0.0.1"]
        try certificates.issue(folder + "/web", name: "Lockstep gateway", for: .server, hosts: names)
        self.init(
            certificate: (folder + "/web.pem", folder + "/web.key"), authority: certificates.authority,
            tokenFile: tokenFile, page: "https://\(OwnAddress.own ?? OwnAddress.name):\(port)", token: token)
    }

    /// The fingerprint of the authority (SHA-256), as phones show it; nil without one.
    var fingerprint: String? {
        guard let authority, let openssl = ProgramLocation.system("openssl"),
            let run = try? RunningProgram(openssl, ["x509", "-in", authority, "-noout", "-fingerprint", "-sha256"]),
            run.waitForEnd() == 0
        else { return nil }
        return run.text.split(separator: "=").last.map { $0.filter { !$0.isWhitespace } }
    }

    /// What a person does once on a phone to trust the authority, one line for each kind of phone.
    var trustSteps: [(name: String, text: String)] {
        guard authority != nil else { return [] }
        let open = "open \(page)/ca.pem"
        return [
            (
                "trust on iPhones",
                "\(open) in Safari; then in Settings: Profile Downloaded > Install; then General > About > "
                    + "Certificate Trust Settings > Lockstep authority"
            ),
            (
                "trust on Android",
                "\(open); then in Settings: Security > Encryption & credentials > Install a certificate > CA "
                    + "certificate > ca.pem"
            ),
        ] + (fingerprint.map { [("fingerprint to compare", $0)] } ?? [])
    }

    /// The address as a QR code for a terminal; nil if qrencode is not installed.
    var code: String? {
        guard let qrencode = ProgramLocation.system("qrencode"),
            let run = try? RunningProgram(qrencode, ["-t", "UTF8", "-m", "2"], input: address), run.waitForEnd() == 0
        else { return nil }
        return run.text
    }
}
