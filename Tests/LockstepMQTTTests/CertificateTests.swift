import Foundation
import LockstepTestSupport
import Testing

@testable import LockstepMQTT

@Suite("The end of the validity of certificates")
struct CertificateTests {
    private static let day: Int64 = 86_400_000_000

    @Test(
        "it is read as OpenSSL writes it, with two and with four digits of the year",
        .enabled(if: Programs.isInstalled("openssl"), "openssl is not installed"), arguments: [1, 400, 20_000])
    func files(days: Int) async throws {
        try await withTemporaryFolder { folder in
            let before = Int64(Date().timeIntervalSince1970 * 1e6)
            let certificate = try await TestCertificate(in: folder, days: days)
            let after = Int64(Date().timeIntervalSince1970 * 1e6)
            let expiries = CertificateExpiry.microseconds(inFile: certificate.certificate)
            let range = (before - 1_000_000 + Int64(days) * Self.day)...(after + Int64(days) * Self.day)
            #expect(expiries.count == 1 && range.contains(expiries[0]), "\(expiries) \(range)")
            // Every certificate of a file is read, and a key is none.
            let text = try String(contentsOfFile: certificate.certificate, encoding: .utf8)
            let key = try String(contentsOfFile: certificate.key, encoding: .utf8)
            #expect(CertificateExpiry.microseconds(inPEM: text + key + text) == expiries + expiries)
            #expect(CertificateExpiry.microseconds(inFile: folder + "/missing") == [])
            #expect(
                CertificateExpiry.microseconds(inPEM: "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----")
                    == [])
            let body = text.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
            let bytes = try #require(Data(base64Encoded: body)).map { $0 }
            #expect(CertificateExpiry.microseconds(inDER: bytes) == expiries[0])
            for length in 0..<bytes.count { _ = CertificateExpiry.microseconds(inDER: Array(bytes.prefix(length))) }
        }
    }

    @Test("a warning comes 30 days before the end, once a day, until the certificate is renewed")
    func warnings() {
        let files = Expiries(["a.pem": [100 * Self.day, 90 * Self.day]])
        var watch = CertificateWatch(tls: TLSOptions(certificateFile: "a.pem", keyFile: "a.key"), read: files.read)
        func days(at time: Int64) -> [Int64] { watch.update(broker: nil, at: time).map(\.days) }
        #expect(days(at: 60 * Self.day) == [])
        #expect(days(at: 60 * Self.day + 3_600_000_000) == [29])
        #expect(days(at: 60 * Self.day + 7_200_000_000) == [])
        #expect(days(at: 61 * Self.day + 3_600_000_000) == [28])
        #expect(days(at: 90 * Self.day + 1) == [-1])
        files.set(["a.pem": [400 * Self.day]])
        #expect(days(at: 90 * Self.day + 3_600_000_001) == [])
        #expect(watch.expiries == [.client: 400 * Self.day])
    }

    @Test("of several authorities the last one to expire counts, and the broker's certificate is as it was presented")
    func uses() {
        let files = Expiries(["ca.pem": [Self.day, 400 * Self.day], "server.pem": [Self.day]])
        var watch = CertificateWatch(
            tls: TLSOptions(authorityFile: "ca.pem"), serverFile: "server.pem", read: files.read)
        let warnings = watch.update(broker: 2 * Self.day, at: 0)
        #expect(warnings.map(\.use) == [.broker, .server] && warnings.map(\.days) == [2, 1])
        #expect(warnings.map(\.file) == [nil, "server.pem"])
        #expect(watch.update(broker: 400 * Self.day, at: 1) == [])
        #expect(watch.expiries[.ca] == 400 * Self.day && watch.expiries[.client] == nil)
    }
}

/// Files with certificates. Unchecked, because a test reads and sets them from one thread only.
private final class Expiries: @unchecked Sendable {
    private var files: [String: [Int64]]
    init(_ files: [String: [Int64]]) { self.files = files }
    func set(_ files: [String: [Int64]]) { self.files = files }
    @Sendable func read(_ path: String) -> [Int64] { files[path] ?? [] }
}
