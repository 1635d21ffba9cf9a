import Testing

@testable import LockstepMQTT

@Suite("TLSDiagnosis")
struct TLSDiagnosisTests {
    @Test(
        "the cause is derived from the logged errors of OpenSSL and libmosquitto",
        arguments: [
            ("Error: host name verification failed.", "the broker's certificate is not valid for 'h.example'"),
            ("OpenSSL Error[0]: error:0A00045C:SSL routines::tlsv13 alert certificate required", "add --cert-file"),
            ("OpenSSL Error[0]: error:0A000410:SSL routines::sslv3 alert handshake failure", "--cert-file, --key-file"),
            ("OpenSSL Error[0]: error:0A000418:SSL routines::tlsv1 alert unknown ca", "does not trust the CA"),
            ("OpenSSL Error[0]: error:0A000415:SSL routines::sslv3 alert certificate expired", "has expired"),
            ("OpenSSL Error[0]: error:0A000414:SSL routines::sslv3 alert certificate revoked", "was revoked"),
            ("OpenSSL Error[0]: error:0A00010B:SSL routines::wrong version number", "check the port for mqtts://"),
            (
                "OpenSSL Error[0]: error:0A000126:SSL routines::unexpected eof while reading",
                "check that the port uses TLS; if not, use mqtt://"
            ),
            ("Error: Unable to load client key file \"/k\".", "--key-file"),
            ("OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed", "cannot verify"),
        ])
    func causes(line: String, part: String) {
        let cause = TLSDiagnosis.cause(of: line, host: "h.example", session: nil)
        #expect(cause?.contains(part) == true, "\(cause ?? "")")
    }

    @Test("other errors have no TLS cause")
    func others() {
        #expect(TLSDiagnosis.cause(of: "Error: Out of memory.", host: "h", session: nil) == nil)
    }

    @Test(
        "the verification results of OpenSSL are explained",
        arguments: [
            (9, "not valid yet"), (10, "has expired"), (18, "--ca-file"), (19, "--ca-file"), (20, "--ca-file"),
            (21, "--ca-file"), (23, "revoked"), (26, "server authentication"), (62, "host name"),
            (0, "cannot verify"),
        ])
    func verification(number: Int, part: String) {
        #expect(TLSDiagnosis.verification(number).contains(part))
    }

    @Test("other verification results have the text of OpenSSL")
    func textOfOpenSSL() {
        #expect(
            TLSDiagnosis.verification(22) == "cannot verify the broker's certificate: certificate chain too long")
    }
}
