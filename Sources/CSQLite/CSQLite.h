#if !__has_include(<sqlite3.h>)
#error "sqlite3.h is missing: install libsqlite3-dev (apt-get install libsqlite3-dev)"
#endif
#include <sqlite3.h>

/// A name in double quotes is a column, never a text: a column that does not exist is an error
/// (sqlite.org/quirks.html §8). Variadic functions cannot be called from Swift.
static inline void longhaul_sqlite3_strict_quotes(sqlite3 *database) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, (void *)0);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (void *)0);
}
