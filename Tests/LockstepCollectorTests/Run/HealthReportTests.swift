import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire
import Logging
import Testing

@testable import LockstepCollector

@Suite("Last will of a collector")
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

    @Test("the last will reports that the collector is offline")
    func offline() throws {
        let will = try will()
        #expect(will.status == .offline && will.problem == nil)
        #expect(!report.isStalled)
    }

    @Test("the groups are reported, unless all are collected")
    func groups() throws {
        var configuration = CollectorConfiguration(
            id: CollectorID(unchecked: "main"), broker: BrokerAddress(host: "localhost", port: 1883))
        #expect(try will().groups == nil)
        configuration.groups = [GroupID(unchecked: "lab"), GroupID(unchecked: "yard")]
        let report = HealthReport(
            configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let message = try #require(report.connectionOptions(version: .five).will)
        #expect(try CollectorHealth.decode(Data(message.payload)).groups == ["lab", "yard"])
    }

    @Test("while the store cannot be written, the last will reports the reason")
    func stalled() throws {
        report.stall("the disk is full")
        #expect(report.isStalled)
        let will = try will()
        #expect(will.status == .stalled && will.problem == "the disk is full")
        report.count(IngestResult(), rejected: [])
        let after = try self.will()
        #expect(after.status == .offline && after.problem == nil)
        #expect(!report.isStalled)
    }
}
