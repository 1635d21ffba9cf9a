public import LockstepModel

extension PedometerData {
    /// Returns the data extended by the rows that end after ``endDate``, up to the end of the last row.
    ///
    /// - Parameter rows: rows of the `steps` stream in order of time. Rows that ended by ``endDate`` are already
    ///   included.
    /// - Precondition: `rows` belongs to the steps stream.
    public func appending(_ rows: SampleBlock) -> PedometerData {
        guard let last = rows.times.last.map(Timestamp.init(microseconds:)), last > endDate,
            let next = PedometerData(rows: rows, from: endDate, to: last)
        else { return self }
        var sum = next
        sum.startDate = startDate
        sum.numberOfSteps += numberOfSteps
        (sum.floorsAscended, sum.floorsDescended) = (floorsAscended, floorsDescended)
        sum.distance = distance.flatMap { distance in next.distance.map { distance + $0 } }
        if let walked = sum.distance, walked > 0 {
            let seconds = [self, next].map { ($0.averageActivePace ?? 0) * ($0.distance ?? 0) }
            sum.averageActivePace = (seconds[0] + seconds[1]) / walked
        } else {
            sum.averageActivePace = nil
        }
        return sum
    }

    /// Returns the data with the floors of the rows whose end is after `from`, up to `to`.
    ///
    /// - Parameter rows: rows of the `floors` stream.
    /// - Precondition: `rows` belongs to the floors stream.
    public func addingFloors(_ rows: SampleBlock, from: Timestamp, to: Timestamp) -> PedometerData {
        precondition(rows.stream == .floors, "floors come from rows of floors")
        var sum = self
        let indices = rows.times.indices.filter {
            rows.times[$0] > from.microseconds && rows.times[$0] <= to.microseconds
        }
        func total(_ known: Int?, _ column: Int) -> Int {
            Int(min(indices.reduce(Double(known ?? 0)) { $0 + max(0, rows.columns[column][$1]) }, 0x1p53))
        }
        sum.floorsAscended = total(floorsAscended, 1)
        sum.floorsDescended = total(floorsDescended, 2)
        return sum
    }
}
