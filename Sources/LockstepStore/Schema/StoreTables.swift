/// The tables that are independent of the streams, as of schema 1.
///
/// Never change released columns, types or keys here: add a migration. Comments may change, but the change is visible
/// in new stores only. SQLite keeps the comments, so `.schema` in the `sqlite3` shell explains the store.
let storeTables = [
    """
    CREATE TABLE _devices (
        -- One row per device, without what is in _waiting: the view devices has both.
        device_id INTEGER PRIMARY KEY,
        group_name TEXT NOT NULL,
        device TEXT NOT NULL,
        first_seen INTEGER,
        last_seen INTEGER,
        last_t INTEGER,
        samples INTEGER NOT NULL DEFAULT 0,
        duplicates INTEGER NOT NULL DEFAULT 0,
        conflicts INTEGER NOT NULL DEFAULT 0,
        state TEXT,
        since INTEGER,
        previous TEXT,
        reason TEXT,
        state_seq INTEGER,
        session INTEGER,
        session_epoch TEXT,
        phase TEXT,
        rests_on INTEGER,
        UNIQUE (group_name, device)
    )
    """,
    """
    CREATE TABLE states (
        -- One row per change of a device's life-cycle state.
        device_id INTEGER NOT NULL REFERENCES _devices,
        seq INTEGER NOT NULL, -- number of the change, from 1
        state TEXT NOT NULL, -- new state: active, inactive, background, resumed, terminated
        since INTEGER NOT NULL, -- time of the change, in µs since 1970-01-01 UTC
        previous TEXT, -- previous state; NULL for the first change
        reason TEXT NOT NULL, -- foreground, background, connection-lost, silent, live-sample, settled, ...
        PRIMARY KEY (device_id, seq)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE _batches (
        -- Numbers of the received batches, without those in _waiting: the view batches has both.
        device_id INTEGER NOT NULL REFERENCES _devices,
        epoch TEXT NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (device_id, epoch, first)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE dropped (
        -- Numbers of the batches that will never be stored, because the agent has dropped or the collector rejected them,
        -- as ranges like those in batches.
        device_id INTEGER NOT NULL REFERENCES _devices,
        epoch TEXT NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (device_id, epoch, first)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE _clocks (
        -- Estimates of devices' clocks, without those in _waiting: the view clocks has both.
        device_id INTEGER NOT NULL REFERENCES _devices,
        collector TEXT NOT NULL,
        epoch TEXT NOT NULL,
        t INTEGER NOT NULL,
        segment INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        skew REAL NOT NULL,
        bound INTEGER NOT NULL,
        skew_bound REAL NOT NULL,
        PRIMARY KEY (device_id, collector, epoch, t)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE conflicts (
        -- Samples with the time of a stored sample but different values, each once.
        device_id INTEGER NOT NULL REFERENCES _devices,
        stream TEXT NOT NULL, -- motion/accelerometer, steps, ...
        t INTEGER NOT NULL, -- time of the sample, in µs since 1970-01-01 UTC
        stored TEXT NOT NULL, -- values in the table of the stream, as JSON
        received TEXT NOT NULL, -- values received later, as JSON; they are stored only here
        epoch TEXT, -- epoch and number of the batch with these values; NULL if it was not numbered
        seq INTEGER,
        at INTEGER NOT NULL, -- time of receipt, in µs since 1970-01-01 UTC, on the collector's clock
        PRIMARY KEY (device_id, stream, t, received)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE rejected (
        -- Rejected messages. Only the newest are kept.
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL, -- time of receipt, in µs since 1970-01-01 UTC, on the collector's clock
        topic TEXT NOT NULL,
        reason TEXT NOT NULL,
        size INTEGER NOT NULL, -- size of the payload, in bytes
        head BLOB NOT NULL -- first bytes of the payload, at most 256
    )
    """,
    """
    CREATE TABLE streams (
        -- The streams with samples, and those declared in the settings of a collector.
        stream_id INTEGER PRIMARY KEY, -- number of the stream in _waiting
        name TEXT NOT NULL UNIQUE, -- channel of the topic, such as motion/accelerometer or x/co2
        table_name TEXT NOT NULL UNIQUE, -- view of the samples, from the first sample on
        definition TEXT -- summary and columns of a declared stream, as JSON
    )
    """,
    """
    CREATE TABLE _waiting (
        -- What was received lately, in order: each row is what one commit received of one stream of one device. Its samples
        -- move to the table of the stream when there are enough of the device to fill pages there.
        n INTEGER PRIMARY KEY,
        device_id INTEGER NOT NULL,
        stream_id INTEGER, -- see streams; 0 for estimates of the clock; NULL for a message without samples
        epoch TEXT, -- epoch of the batches
        batches, -- number of the batch, or a JSON array of numbers and of ranges [first, last]
        received INTEGER, -- time of receipt, in µs since 1970-01-01 UTC, on the collector's clock; NULL for an estimate
        first_t INTEGER, -- time of the oldest and of the newest sample
        last_t INTEGER,
        count INTEGER NOT NULL, -- new samples
        rows TEXT -- [[t - first_t, value, ...], ...]; NULL if the samples went straight to their table
    )
    """,
    """
    CREATE TABLE _merge (
        -- The move of waiting samples that is under way: those up to n = upto of devices up to device_done have been moved,
        -- so they are ignored in _waiting.
        upto INTEGER NOT NULL,
        device_done INTEGER NOT NULL -- 0 if no move is under way
    )
    """,
    "INSERT INTO _merge VALUES (0, 0)",
    EpochReportTable.create,
    StoreFile.create,
]
