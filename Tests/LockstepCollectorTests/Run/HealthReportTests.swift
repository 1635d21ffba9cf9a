import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire
import Logging
import Testing

@testable import LockstepCollector

@Suite("A collector's last will")
struct HealthReportTests {
    private let report = HealthReport(
        configuration: CollectorConfiguration(
            id: CollectorID(unchecked: "main"), broker: BrokerAddress(host: "localhost", port: 1883)),
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })

    private func will() throws -> CollectorHealth {
        let message = try #require(report.connectionOptions(version: .five).will)
        #expect(message.isRetained && message.topic == "lockstep/default/$collector/main")
        return try CollectorHealth.decode(Data(message.payload))
    }

    @Test("says that it is offline")
    func offline() throws {
        let will = try will()
        #expect(will.status == .offline && will.problem == nil)
        #expect(!report.hasSaidStalled)
    }

    @Test("of one that can't write says so, with the reason, until it can again")
    func stalled() throws {
        report.stall("the disk is full")
        #expect(report.isStalled && !report.hasSaidStalled)
        let will = try will()
        #expect(will.status == .stalled && will.problem == "the disk is full")
        #expect(report.hasSaidStalled)
        report.count(IngestResult(), rejected: [])
        let after = try self.will()
        #expect(after.status == .offline && after.problem == nil)
        #expect(!report.hasSaidStalled)
    }
}
