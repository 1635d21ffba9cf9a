import Foundation
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("Phyphox", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct PhyphoxSystemTests {
    @Test("a phone is read, also after it was away and after the gateway was killed, and each sample is stored once")
    func phone() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            try await system.waitForSubscription()
            let start = (Date().timeIntervalSince1970 - 100).rounded(.down)
            var phone = FakePhone()
            phone.measure(true, experiment: 0, system: start)
            for index in 0..<6000 { phone.append(Double(index) * 0.01, 0, 0, 9.80665) }
            let server = try PhoneServer(phone)
            var gateway = try system.startGateway(["--phyphox", "\(server.url)=lab/phone"])
            try await expectEventually(gateway.text) { try system.rows(of: "accelerometer") == 6000 }
            #expect(await collector.waitForState("active", of: "lab/phone"), "\(gateway.text)")

            // The phone is away, and records on.
            server.stop()
            #expect(await collector.waitForState("background", of: "lab/phone"))
            #expect(gateway.text.contains("no connection to phone"))
            for index in 6000..<6500 { phone.append(Double(index) * 0.01, 0, 0, 9.80665) }
            let again = try PhoneServer(phone, port: server.port)
            defer { again.stop() }
            try await expectEventually(gateway.text) { try system.rows(of: "accelerometer") == 6500 }

            await gateway.stop(SIGKILL)
            again.change { $0.append(66, 0, 0, 9.80665) }
            gateway = try system.startGateway(["--phyphox", "\(server.url)=lab/phone"])
            try await expectEventually(gateway.text) { try system.rows(of: "accelerometer") == 6501 }
            again.change { $0.measure(false, experiment: 67, system: start + 67) }
            #expect(await collector.waitForState("inactive", of: "lab/phone"))
            let store = try SQLiteDatabase(path: system.storePath, mode: .readOnly)
            #expect(try store.integer("SELECT count(*) FROM conflicts") == 0)
            #expect(try store.integer("SELECT count(*) FROM accelerometer WHERE abs(z + 1) < 1e-6") == 6501)
            #expect(try store.integer("SELECT min(t) FROM accelerometer") == Int64(start) * 1_000_000)
        }
    }
}
