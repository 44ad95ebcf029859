import Foundation

extension LonghaulHome {
    /// The rows of a statement on the store, by column names: read with python3's SQLite, not with
    /// the one of the program.
    ///
    /// - Parameter writing: The statement changes the store, which is opened read-only otherwise.
    package func stored(_ statement: String, writing: Bool = false) async throws -> [JSONValue] {
        let result = try await CLIProcess.run(
            "/usr/bin/env",
            [
                "python3", "-c",
                """
                import sqlite3, sys, json
                uri = "file:" + sys.argv[1] + "/queue.sqlite?mode=" + sys.argv[3]
                db = sqlite3.connect(uri, uri=True, isolation_level=None)
                db.row_factory = sqlite3.Row
                for row in db.execute(sys.argv[2]): print(json.dumps(dict(row), default=str))
                """, state, statement, writing ? "rw" : "ro",
            ], environment: environment)
        guard result.status == 0 else { throw StatementFailed(description: "\(result)") }
        return try result.rows
    }
}

private struct StatementFailed: Error, CustomStringConvertible {
    var description: String
}
