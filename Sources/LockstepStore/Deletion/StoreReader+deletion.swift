public import LockstepModel
import LockstepSQLite

extension StoreReader {
    public func deletions(of device: DeviceAddress?) throws(StoreError) -> [StoredDeletion] {
        try reading {
            guard let device else { return try DeletionTable.read(in: database).map(\.stored) }
            guard let id = try id(of: device) else { return [] }
            return try DeletionTable.read(of: id, in: database).map(\.stored)
        }
    }

    public func preview(of deletion: Deletion) throws(StoreError) -> [DeletionDay] {
        try reading {
            guard let device = try id(of: deletion.device) else { return [] }
            var days: [DeletionDay] = []
            for stream in try StreamTable.catalog(in: database).streams where deletion.covers(stream) {
                guard try StoreSchema.storedSQL(of: stream.table, in: database) != nil else { continue }
                let select = try database.prepare(
                    """
                    SELECT count(*), min(t), max(t) FROM \(stream.table) WHERE device_id = ? AND t >= ? AND t < ?
                    GROUP BY t / 86400000000 ORDER BY 2
                    """)
                try select.bind(device, at: 1)
                try select.bind(deletion.times.lowerBound, at: 2)
                try select.bind(deletion.times.upperBound, at: 3)
                while try select.step() {
                    days.append(
                        DeletionDay(
                            stream: stream.name, count: select.int64(at: 0),
                            first: Timestamp(microseconds: select.int64(at: 1)),
                            last: Timestamp(microseconds: select.int64(at: 2))))
                }
            }
            return days
        }
    }

    /// Returns the times of a stream of a device that were deleted.
    func deletedTimes(of stream: SensorStream, _ device: DeviceAddress) throws(StoreError) -> [Range<Int64>] {
        try deletions(of: device).map(\.deletion).filter { $0.covers(stream) }.map(\.times)
    }
}
