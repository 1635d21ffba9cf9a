/// The tables that are independent of the streams, as of schema 1.
///
/// Never change released columns, types or keys here: add a migration. Comments may change, but the change is visible
/// in new stores only. SQLite keeps the comments, so `.schema` in the `sqlite3` shell explains the store.
let baseTables = [
    """
    CREATE TABLE devices (
        -- One row per device. Times are µs since 1970-01-01 UTC. See also the view v_devices.
        device_id INTEGER PRIMARY KEY, -- identifies the device in the other tables
        group_name TEXT NOT NULL,
        device TEXT NOT NULL,
        first_seen INTEGER, -- time of its first message, on the collector's clock
        last_seen INTEGER, -- time of its last message, on the collector's clock
        last_t INTEGER, -- time of its newest sample
        samples INTEGER NOT NULL DEFAULT 0, -- stored samples of all streams
        duplicates INTEGER NOT NULL DEFAULT 0, -- samples received again with the same values
        conflicts INTEGER NOT NULL DEFAULT 0, -- samples received again with different values, see the table conflicts
        state TEXT, -- life-cycle state: active, inactive, background, resumed, terminated
        since INTEGER, -- time of the last change of the state
        previous TEXT, -- previous state
        reason TEXT, -- reason for the last change
        state_seq INTEGER, -- number of the last change, see the table states
        session INTEGER, -- newest session: start of the agent's connection
        phase TEXT, -- phase last reported by that session: foreground, inactive, background, terminated, lost
        rests_on INTEGER, -- time of the newest evidence for the state, on the device's time line
        UNIQUE (group_name, device)
    )
    """,
    """
    CREATE TABLE states (
        -- One row per change of a device's life-cycle state. See also the view v_states.
        device_id INTEGER NOT NULL REFERENCES devices,
        seq INTEGER NOT NULL, -- number of the change, from 1
        state TEXT NOT NULL, -- new state: active, inactive, background, resumed, terminated
        since INTEGER NOT NULL, -- time of the change, in µs since 1970-01-01 UTC
        previous TEXT, -- previous state; NULL for the first change
        reason TEXT NOT NULL, -- foreground, background, connection-lost, silent, live-sample, settled, ...
        PRIMARY KEY (device_id, seq)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE batches (
        -- Numbers of the received batches, as ranges from first to last (inclusive). See also the view v_gaps.
        device_id INTEGER NOT NULL REFERENCES devices,
        epoch TEXT NOT NULL, -- epoch of the agent's outbox; batch numbers are unique within (device, epoch)
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (device_id, epoch, first)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE dropped (
        -- Numbers of the batches that the agent dropped and will never send, as ranges like those in batches.
        device_id INTEGER NOT NULL REFERENCES devices,
        epoch TEXT NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (device_id, epoch, first)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE conflicts (
        -- Samples with the time of a stored sample but different values, each once. See also the view v_conflicts.
        device_id INTEGER NOT NULL REFERENCES devices,
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
        -- Rejected messages. Only the newest are kept. See also the view v_rejected.
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL, -- time of receipt, in µs since 1970-01-01 UTC, on the collector's clock
        topic TEXT NOT NULL,
        reason TEXT NOT NULL,
        size INTEGER NOT NULL, -- size of the payload, in bytes
        head BLOB NOT NULL -- first bytes of the payload, at most 256
    )
    """,
]
