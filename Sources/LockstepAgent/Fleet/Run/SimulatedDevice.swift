import LockstepModel

/// A simulated device: the delivery state of an agent without stored samples.
struct SimulatedDevice {
    let address: DeviceAddress
    let epoch: Epoch
    var delivery: DeviceDelivery
    /// Limits the rate of backlog.
    var budget: ByteBudget
    var log = DeliveryLog()

    init(_ index: Int, of plan: FleetPlan, backlogRate: Int, at boot: Int64) {
        address = plan.address(index)
        epoch = plan.epoch(index)
        let backlog = plan.backlogBatches
        delivery = DeviceDelivery(pending: backlog > 0 ? [epoch: SequenceSet([1...backlog])] : [:])
        budget = ByteBudget(rate: backlogRate, at: boot)
    }
}
