import Dispatch
import Glibc
import LockstepModel
import LockstepSQLite
import Synchronization

/// The check of the file of a store: of one table with its indexes after the other, so that it can be ended.
///
/// SQLite checks a table in one call that nothing can interrupt, so this happens on a thread of its own, and a program that
/// does not want to wait ends without it.
public final class FileCheck: Sendable {
    /// What was checked so far.
    public struct Progress: Sendable {
        /// The tables that are checked, together with their indexes.
        public fileprivate(set) var checked: [String] = []
        /// The tables that are not, the current one first.
        public fileprivate(set) var rest: [String] = []
        /// The problems found.
        public fileprivate(set) var findings: [String] = []
        /// Whether the check has ended, and the error that has ended it.
        public fileprivate(set) var isDone = false
        public fileprivate(set) var error: StoreError?
    }

    private let state = Mutex(Progress())
    private let end = DispatchGroup()
    private let bytes: Int64
    private let readBefore = FileCheck.readBytes()

    /// Starts to check the store at `path`.
    /// - Throws: ``StoreError`` if it is not a store.
    public init(path: String) throws(StoreError) {
        let reader = try SQLiteDriver(path: path)
        do {
            bytes = try reader.database.integer("PRAGMA page_count") * reader.database.integer("PRAGMA page_size")
        } catch { throw StoreError(error, path: path) }
        DispatchQueue(label: "lockstep.store.check").async(group: end) { [self] in
            do { try run(path) } catch {
                state.withLock { $0.error = StoreError(error, path: path) }
            }
            state.withLock { $0.isDone = true }
        }
    }

    /// What was checked so far.
    public var progress: Progress { state.withLock { $0 } }

    /// The share of the work that is done, from 0 to 1, or nil if the kernel does not tell how much this process has read.
    public var share: Double? {
        guard let before = readBefore, let now = Self.readBytes() else { return nil }
        // SQLite reads each table twice: its pages, and its rows.
        return min(1, Double(now - before) / Double(max(1, 2 * bytes)))
    }

    /// Waits until the check has ended, or until a time has passed.
    public func wait(_ time: Duration) { _ = end.wait(timeout: .now() + time / .seconds(1)) }

    private func run(_ path: String) throws {
        let database = try SQLiteDatabase(path: path, mode: .readOnly)
        let select = try database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
        var tables = ["sqlite_schema"]
        while try select.step() { tables += [select.text(at: 0)].compactMap(\.self) }
        state.withLock { [tables] in $0.rest = tables }
        for table in tables {
            let findings = try Self.findings(in: table, of: database)
            state.withLock { state in
                state.findings += findings
                state.checked.append(table)
                state.rest.removeFirst()
            }
        }
    }

    private static func findings(in table: String, of database: SQLiteDatabase) throws(SQLiteError) -> [String] {
        var findings: [String] = []
        do {
            let check = try database.prepare("PRAGMA quick_check(\"\(table.replacing("\"", with: "\"\""))\")")
            while try check.step() {
                if let finding = check.text(at: 0), finding != "ok" { findings.append("\(table): \(finding)") }
            }
        } catch {
            // Severe damage makes the check itself fail.
            guard error.isCorrupt else { throw error }
            findings.append("\(table): \(error.message)")
        }
        return findings
    }

    /// Returns the number of bytes that this process has read from files.
    private static func readBytes() -> Int64? {
        KernelFile.firstLine("/proc/self/io").flatMap { $0.hasPrefix("rchar: ") ? Int64($0.dropFirst(7)) : nil }
    }
}
