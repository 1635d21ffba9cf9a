import LockstepModel
import LockstepWire

/// Which topics and devices belong to a collector. What does not is neither stored nor acknowledged, whatever the broker
/// delivers.
struct CollectorScope {
    /// The prefix of all topics.
    let root: TopicRoot
    /// The groups, or empty for all.
    let groups: [GroupID]
    /// The share of a cluster whose devices are stored, or nil for all devices of the groups.
    let share: CollectorShare?
    /// The topic filters to subscribe to.
    let filters: [String]

    init(root: TopicRoot, groups: [GroupID] = [], share: CollectorShare? = nil) {
        self.root = root
        self.groups = groups
        self.share = share
        filters = groups.isEmpty ? [root.filter(group: nil)] : groups.map { root.filter(group: $0) }
    }

    func contains(_ device: DeviceAddress) -> Bool {
        share?.contains(device) ?? (groups.isEmpty || groups.contains(device.group))
    }

    /// Returns whether the collector has all devices of a group.
    func containsGroup(_ group: GroupID) -> Bool {
        share.map { $0.group == group && $0.partitions == 1 } ?? (groups.isEmpty || groups.contains(group))
    }

    /// Returns whether one of ``filters`` matches a topic.
    func covers(_ topic: String) -> Bool {
        // A filter that ends with '/#' also matches its parent.
        filters.contains {
            topic.utf8.starts(with: $0.utf8.dropLast()) || topic.utf8.elementsEqual($0.utf8.dropLast(2))
        }
    }

    /// Returns the filters that a collector with another root or other groups may have subscribed to, and that match a
    /// topic: `ROOT/#` and `ROOT/GROUP/#` for each possible root.
    func foreignFilters(matching topic: String) -> [String] {
        let levels = topic.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        // A topic has at least a root, a group, a device and a channel. The root of a topic in scope is known.
        let depth = covers(topic) ? root.text.utf8.count { $0 == UInt8(ascii: "/") } + 2 : levels.count - 2
        return levels.prefix(max(0, min(depth, levels.count - 1))).map { "\(topic[..<$0.endIndex])/#" }
            .filter { !filters.contains($0) }
    }
}
