public import LockstepModel

/// What is stored of one device, with the newest samples.
public struct DeviceOverview: Sendable {
    /// A stored sample.
    public struct Sample: Sendable {
        /// The time of the sample.
        public let time: Timestamp
        /// The values in the order of the stream's columns. NaN stands for null.
        public let values: [Double]

        package init(time: Timestamp, values: [Double]) {
            self.time = time
            self.values = values
        }
    }

    /// What the store knows of the device.
    public let device: StoredDevice
    /// The times of the newest samples, by the name of the stream. Streams without samples are absent.
    public let newest: [String: Timestamp]
    /// The newest sample of the stream `battery`, or nil if there is none.
    public let battery: Sample?
    /// The newest sample of the stream `location` that has a position, or nil if there is none among the newest 10,000.
    public let position: Sample?
}

extension StoreReader {
    /// Returns an overview of every device, ordered by group and device id.
    ///
    /// Its duration grows with the numbers of devices and streams, and with what waits, but not with the number of other
    /// samples. In a ClickHouse store, streams without samples in the 31 days before the newest one of a device may be
    /// absent.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func overviews(cancellation: QueryCancellation? = nil) throws(StoreError) -> [DeviceOverview] {
        try reading(until: cancellation) {
            let devices = try stored()
            let records = devices.map(\.record)
            var newest: [Int64: [String: Timestamp]] = [:]
            for stream in try catalog().streams {
                for (id, time) in try driver.newestTimes(of: stream, records) {
                    newest[id, default: [:]][stream.name] = Timestamp(microseconds: time)
                }
            }
            let batteries = try driver.newestSamples(of: .battery, knowing: "state", records)
            let positions = try driver.newestSamples(of: .location, knowing: "lat", records)
            return devices.map { device in
                let id = device.record.id
                return DeviceOverview(
                    device: device, newest: newest[id] ?? [:], battery: batteries[id], position: positions[id])
            }
        }
    }
}
