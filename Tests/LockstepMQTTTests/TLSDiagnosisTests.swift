import Testing

@testable import LockstepMQTT

@Suite("Why TLS failed")
struct TLSDiagnosisTests {
    @Test(
        "is told from what OpenSSL and libmosquitto log",
        arguments: [
            ("Error: host name verification failed.", "the broker's certificate is not for 'h.example'"),
            ("OpenSSL Error[0]: error:0A00045C:SSL routines::tlsv13 alert certificate required", "give --cert-file"),
            ("OpenSSL Error[0]: error:0A000410:SSL routines::sslv3 alert handshake failure", "--cert-file, --key-file"),
            ("OpenSSL Error[0]: error:0A000418:SSL routines::tlsv1 alert unknown ca", "does not trust the authority"),
            ("OpenSSL Error[0]: error:0A000415:SSL routines::sslv3 alert certificate expired", "has expired"),
            ("OpenSSL Error[0]: error:0A000414:SSL routines::sslv3 alert certificate revoked", "was revoked"),
            ("OpenSSL Error[0]: error:0A00010B:SSL routines::wrong version number", "is this the port for mqtts://?"),
            ("Error: Unable to load client key file \"/k\".", "--key-file"),
            ("OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed", "can't be verified"),
        ])
    func causes(line: String, part: String) {
        let cause = TLSDiagnosis.cause(of: line, host: "h.example", session: nil)
        #expect(cause?.contains(part) == true, "\(cause ?? "")")
    }

    @Test("is not guessed from anything else")
    func others() {
        #expect(TLSDiagnosis.cause(of: "Error: Out of memory.", host: "h", session: nil) == nil)
    }

    @Test(
        "names the fault of a certificate, by OpenSSL's number",
        arguments: [
            (9, "not valid yet"), (10, "has expired"), (18, "--ca-file"), (19, "--ca-file"), (20, "--ca-file"),
            (21, "--ca-file"), (23, "revoked"), (26, "for a server"), (62, "host name"), (0, "can't be verified"),
        ])
    func verification(number: Int, part: String) {
        #expect(TLSDiagnosis.verification(number).contains(part))
    }

    @Test("falls back to OpenSSL's own words")
    func ownWords() {
        #expect(
            TLSDiagnosis.verification(22) == "the broker's certificate can't be verified: certificate chain too long")
    }
}
