/// The steps that led to the present schema: step `n` takes a database from `user_version` n − 1 to n.
///
/// A step that was released is never changed; what is new is one more step.
public struct SchemaMigrations: Sendable {
    /// One change of the schema.
    public typealias Step = @Sendable (SQLiteDatabase) throws -> Void

    private let steps: [Step]

    public init(_ steps: [Step]) { self.steps = steps }

    /// The schema's version with all steps applied.
    public var version: Int { steps.count }

    /// Applies what a database lacks, each step in its own transaction.
    /// - Throws: ``NewerSchemaError``, ``SQLiteError``, or what a step throws; steps before it stay applied.
    public func apply(to database: SQLiteDatabase) throws {
        try check(database)
        for (index, step) in steps.enumerated() where try index >= database.userVersion {
            try database.transaction {
                // Another process may have done it while this one waited for the lock.
                guard try database.userVersion == index else { return }
                try step(database)
                try database.setUserVersion(index + 1)
            }
        }
    }

    /// Checks that this program knows the database's schema.
    /// - Throws: ``NewerSchemaError``, or ``SQLiteError`` if the file can't be read.
    public func check(_ database: SQLiteDatabase) throws {
        let found = try database.userVersion
        guard found <= version else { throw NewerSchemaError(found: found, known: version) }
    }
}

/// A database that a later version of the program wrote.
public struct NewerSchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    public let found: Int
    public let known: Int

    public var description: String {
        "written by a newer Lockstep (schema \(found), this program knows \(known)): upgrade this program"
    }
}
