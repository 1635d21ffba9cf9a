public import LockstepModel

extension PedometerData {
    /// This, and what was walked after it by these rows, up to the end of the last; rows that ended before its end date
    /// have been told already.
    /// - Parameter rows: in the order of their time.
    /// - Precondition: `rows` is of the steps stream.
    public func followed(by rows: SampleBlock) -> PedometerData {
        guard let last = rows.times.last.map(Timestamp.init(microseconds:)), last > endDate,
            let next = PedometerData(rows: rows, from: endDate, to: last)
        else { return self }
        var sum = next
        sum.startDate = startDate
        sum.numberOfSteps += numberOfSteps
        sum.distance = distance.flatMap { distance in next.distance.map { distance + $0 } }
        if let walked = sum.distance, walked > 0 {
            let seconds = [self, next].map { ($0.averageActivePace ?? 0) * ($0.distance ?? 0) }
            sum.averageActivePace = (seconds[0] + seconds[1]) / walked
        } else {
            sum.averageActivePace = nil
        }
        return sum
    }
}
