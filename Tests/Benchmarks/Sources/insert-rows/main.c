// For the benchmark ingest-batches: inserts the same rows into the same tables, without MQTT and decoding.
//
//   insert-rows DATABASE ROWS normal|full
//
// DATABASE is an empty store, which gets the tables of three streams. ROWS is a file of `struct row`. The last argument is SQLite's synchronous mode. Prints
// elapsed seconds, CPU seconds and the number of rows.
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct row {
    int32_t device;
    int32_t stream;
    int64_t t;
    double x, y, z;
};

enum { rows_a_statement = 50, rows_a_transaction = 50000 };
static const char *const tables[] = {"_accelerometer", "_gyroscope", "_magnetometer"};

static sqlite3 *database;

static void check(int code, int wanted) {
    if (code == wanted) return;
    fprintf(stderr, "insert-rows: %s\n", sqlite3_errmsg(database));
    exit(1);
}

static void execute(const char *sql) { check(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK); }

static sqlite3_stmt *prepare(const char *table) {
    char sql[1024];
    // As the collector does with the first sample of a stream.
    snprintf(
        sql, sizeof sql,
        "CREATE TABLE %s (device_id INTEGER NOT NULL, t INTEGER NOT NULL, x REAL, y REAL, z REAL, "
        "PRIMARY KEY (device_id, t)) WITHOUT ROWID",
        table);
    execute(sql);
    int length = snprintf(sql, sizeof sql, "INSERT INTO %s (device_id, t, x, y, z) VALUES ", table);
    for (int row = 0; row < rows_a_statement; row++)
        length += snprintf(sql + length, sizeof sql - (size_t)length, "%s(?,?,?,?,?)", row ? "," : "");
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), SQLITE_OK);
    return statement;
}

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    int is_full = count == 4 && strcmp(arguments[3], "full") == 0;
    if (count != 4 || (!is_full && strcmp(arguments[3], "normal") != 0)) {
        fputs("usage: insert-rows DATABASE ROWS normal|full\n", stderr);
        return 64;
    }
    FILE *file = fopen(arguments[2], "rb");
    if (!file) {
        perror(arguments[2]);
        return 1;
    }
    double begin = seconds(CLOCK_MONOTONIC);
    check(sqlite3_open(arguments[1], &database), SQLITE_OK);
    execute("PRAGMA journal_mode = WAL");
    execute(is_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    execute("PRAGMA cache_size = -65536");
    // The collector checkpoints its log after as many pages.
    execute("PRAGMA wal_autocheckpoint = 24000");
    sqlite3_stmt *inserts[3];
    for (int stream = 0; stream < 3; stream++) inserts[stream] = prepare(tables[stream]);

    static struct row rows[rows_a_statement];
    long inserted = 0;
    execute("BEGIN IMMEDIATE");
    while (fread(rows, sizeof *rows, rows_a_statement, file) == rows_a_statement) {
        sqlite3_stmt *insert = inserts[rows[0].stream];
        for (int row = 0, place = 1; row < rows_a_statement; row++) {
            check(sqlite3_bind_int64(insert, place++, rows[row].device), SQLITE_OK);
            check(sqlite3_bind_int64(insert, place++, rows[row].t), SQLITE_OK);
            check(sqlite3_bind_double(insert, place++, rows[row].x), SQLITE_OK);
            check(sqlite3_bind_double(insert, place++, rows[row].y), SQLITE_OK);
            check(sqlite3_bind_double(insert, place++, rows[row].z), SQLITE_OK);
        }
        check(sqlite3_step(insert), SQLITE_DONE);
        check(sqlite3_reset(insert), SQLITE_OK);
        inserted += rows_a_statement;
        if (inserted % rows_a_transaction == 0) {
            execute("COMMIT");
            execute("BEGIN IMMEDIATE");
        }
    }
    execute("COMMIT");
    printf("%f %f %ld\n", seconds(CLOCK_MONOTONIC) - begin, seconds(CLOCK_PROCESS_CPUTIME_ID), inserted);
    return 0;
}
