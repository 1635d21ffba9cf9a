/// An ordered list of schema migrations. Step n migrates a database from `user_version` n − 1 to n.
///
/// Never change a released step. To change the schema, add a step.
public struct SchemaMigrations: Sendable {
    /// A function that migrates the schema by one version.
    public typealias Step = @Sendable (SQLiteDatabase) throws -> Void

    private let steps: [Step]

    /// Creates a list of migrations.
    public init(_ steps: [Step]) { self.steps = steps }

    /// The schema version after all steps.
    public var version: Int { steps.count }

    /// Applies the pending steps to a database: to a new one all in one transaction, otherwise each in its own.
    /// - Throws: ``NewerSchemaError``, ``SQLiteError``, or the error of a step. Previous steps remain applied.
    public func apply(to database: SQLiteDatabase) throws {
        try check(database)
        if try database.userVersion == 0 {
            try database.transaction {
                // Another process may have created the schema while this one waited for the lock.
                guard try database.userVersion == 0 else { return }
                for step in steps { try step(database) }
                try database.setUserVersion(version)
            }
        }
        for (index, step) in steps.enumerated() where try index >= database.userVersion {
            try database.transaction {
                // Another process may have applied the step while this one waited for the lock.
                guard try database.userVersion == index else { return }
                try step(database)
                try database.setUserVersion(index + 1)
            }
        }
    }

    /// Checks that the schema of a database is not newer than this program supports.
    /// - Throws: ``NewerSchemaError``, or ``SQLiteError`` if the file cannot be read.
    public func check(_ database: SQLiteDatabase) throws {
        let found = try database.userVersion
        guard found <= version else { throw NewerSchemaError(found: found, known: version) }
    }
}

/// The error thrown for a database that a newer version of Lockstep wrote.
public struct NewerSchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The schema version of the database.
    public let found: Int
    /// The newest schema version that this program supports.
    public let known: Int

    /// The end of a sentence that starts with the database: `written by a newer version of Lockstep …`.
    public var description: String {
        "written by a newer version of Lockstep (schema \(found), this program supports \(known)): upgrade this program"
    }
}
