import LockstepModel
import LockstepStore

extension ClickHouseDriver {
    func deletions(of device: Int64?) throws -> [StoredDeletion] {
        guard try hasTable("deletions") else { return [] }
        let addresses = Dictionary(try DeviceRecord.read(client).map { ($0.id, $0.address) }) { first, _ in first }
        return try DeletionRecord.readAll(client, of: device, addresses: addresses).map(\.stored)
    }
}
