import LockstepModel

/// A device and one of its epochs, with numbers that identify them in memory and in the database.
struct Scope {
    /// The number of the (device, epoch) in a ``ScopeTable``.
    let number: Int
    /// The id of the device.
    let device: Int64
    let epoch: Epoch
}

/// Numbers each (device, epoch), so that tables in memory can be arrays.
///
/// Computing the hash of two strings and looking it up takes longer than everything else that is done for a message.
struct ScopeTable {
    private(set) var keys: [DeviceEpoch] = []
    private var numbers: [DeviceEpoch: Int] = [:]
    /// The number that was last used for each device id.
    private var latest = NumberMap<Int>()

    /// Returns the scope of a device and an epoch. Numbers are never reused.
    mutating func scope(of address: DeviceAddress, device: Int64, epoch: Epoch) -> Scope {
        // After a rollback, another device can get the id.
        if let number = latest[Int(device)], keys[number].epoch == epoch, keys[number].device == address {
            return Scope(number: number, device: device, epoch: epoch)
        }
        let number = number(of: DeviceEpoch(device: address, epoch: epoch))
        latest[Int(device)] = number
        return Scope(number: number, device: device, epoch: epoch)
    }

    /// Returns the scope with a number that this table has returned.
    func scope(_ number: Int, device: Int64) -> Scope {
        Scope(number: number, device: device, epoch: keys[number].epoch)
    }

    private mutating func number(of key: DeviceEpoch) -> Int {
        if let number = numbers[key] { return number }
        numbers[key] = keys.count
        keys.append(key)
        return keys.count - 1
    }
}
