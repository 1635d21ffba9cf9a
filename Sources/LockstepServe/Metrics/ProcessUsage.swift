import Glibc
import LockstepModel

/// The resources that this process uses.
struct ProcessUsage: Hashable, Sendable {
    /// The CPU time, user and system, in seconds.
    var cpuSeconds: Double
    /// The resident memory in bytes.
    var residentBytes: Int
    /// The virtual memory in bytes.
    var virtualBytes: Int
    /// The start of the process in seconds since 1970, or nil if it is unknown.
    var startTime: Double?
    /// The number of open file descriptors, or nil if it is unknown.
    var openDescriptors: Int?
    /// The maximum number of open file descriptors, or nil if there is none.
    var maxDescriptors: Int?

    /// Returns the usage as reported by the kernel, or nil if `/proc` is not available.
    static func now() -> ProcessUsage? {
        guard let stat = KernelFile.text("/proc/self/stat") else { return nil }
        var usage = ProcessUsage(
            stat: stat, ticksPerSecond: sysconf(Int32(_SC_CLK_TCK)), pageSize: sysconf(Int32(_SC_PAGESIZE)),
            bootTime: bootTime)
        usage?.openDescriptors = openDescriptors()
        usage?.maxDescriptors = maxDescriptors()
        return usage
    }

    /// Parses the text of `/proc/self/stat`, or returns nil if it is incomplete. See proc(5).
    /// - Parameter bootTime: the boot of the machine in seconds since 1970.
    init?(stat: String, ticksPerSecond: Int, pageSize: Int, bootTime: Double?) {
        // The name of the program in brackets may contain spaces and brackets. The next field has number 3.
        guard let bracket = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: bracket)...].split(whereSeparator: \.isWhitespace)
        func field(_ number: Int) -> Int? { number - 3 < fields.count ? Int(fields[number - 3]) : nil }
        guard let user = field(14), let system = field(15), let start = field(22), let virtual = field(23),
            let pages = field(24), ticksPerSecond > 0
        else { return nil }
        cpuSeconds = Double(user + system) / Double(ticksPerSecond)
        residentBytes = pages * pageSize
        virtualBytes = virtual
        startTime = bootTime.map { $0 + Double(start) / Double(ticksPerSecond) }
    }

    /// The boot of the machine in seconds since 1970. It is read once, so that the start of the process is constant.
    ///
    /// Not from `/proc/stat`, which a service with `ProcSubset=pid` cannot read.
    private static let bootTime = seconds(of: CLOCK_REALTIME) - seconds(of: CLOCK_BOOTTIME)

    private static func seconds(of clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func openDescriptors() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Not '.', '..' and the descriptor of the folder itself.
        return max(0, count - 3)
    }

    private static func maxDescriptors() -> Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        // Infinity is no number of this type.
        return Int(exactly: limit.rlim_cur)
    }
}
