/// The tables that don't follow from the streams, as of schema 1.
///
/// The text is never changed once released; a change is one more migration. SQLite keeps the comments, so that
/// `.schema` in its shell explains the store.
let baseTables = [
    """
    CREATE TABLE devices (
        -- One row for each device that was ever heard of. Times are µs since 1970-01-01 UTC. See also v_devices.
        device_id INTEGER PRIMARY KEY, -- stands for the device in the other tables
        group_name TEXT NOT NULL,
        device TEXT NOT NULL,
        first_seen INTEGER, -- when the collector first heard of it, on the collector's clock
        last_seen INTEGER, -- when the collector last heard of it, on the collector's clock
        last_t INTEGER, -- time of its newest sample
        samples INTEGER NOT NULL DEFAULT 0, -- samples stored, over all streams
        duplicates INTEGER NOT NULL DEFAULT 0, -- samples that came again with the same values
        conflicts INTEGER NOT NULL DEFAULT 0, -- samples that came again with other values: see conflicts
        state TEXT, -- life-cycle state: active, inactive, background, resumed, terminated
        since INTEGER, -- since when it is in this state
        previous TEXT, -- the state before
        reason TEXT, -- why the state changed
        state_seq INTEGER, -- number of the change: see states
        session INTEGER, -- the highest session that spoke: start of the agent's connection
        phase TEXT, -- what that session last said of itself: foreground, inactive, background, terminated, lost
        rests_on INTEGER, -- the newest evidence for the state, on the device's time line
        UNIQUE (group_name, device)
    )
    """,
    """
    CREATE TABLE states (
        -- Every change of a device's life-cycle state. See also v_states.
        device_id INTEGER NOT NULL REFERENCES devices,
        seq INTEGER NOT NULL, -- number of the change, from 1
        state TEXT NOT NULL, -- active, inactive, background, resumed, terminated
        since INTEGER NOT NULL, -- when, in µs since 1970-01-01 UTC
        previous TEXT, -- the state before; NULL for the first
        reason TEXT NOT NULL, -- why: foreground, background, connection-lost, silent, live-sample, settled, ...
        PRIMARY KEY (device_id, seq)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE batches (
        -- Numbers of the batches received, as ranges: first to last, both included. See also v_gaps.
        device_id INTEGER NOT NULL REFERENCES devices,
        epoch TEXT NOT NULL, -- what the numbers count in: one life of the agent's outbox
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (device_id, epoch, first)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE dropped (
        -- Numbers of the batches that the agent had to drop and that will never come, as ranges like in batches.
        device_id INTEGER NOT NULL REFERENCES devices,
        epoch TEXT NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (device_id, epoch, first)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE conflicts (
        -- Samples that came with the time of a stored one and other values, each once. See also v_conflicts.
        device_id INTEGER NOT NULL REFERENCES devices,
        stream TEXT NOT NULL, -- motion/accelerometer, steps, ...
        t INTEGER NOT NULL, -- the sample's time, in µs since 1970-01-01 UTC
        stored TEXT NOT NULL, -- the values that the stream's table has, as JSON
        received TEXT NOT NULL, -- the values that came later and are only here, as JSON
        epoch TEXT, -- the batch that brought them, where it had a number
        seq INTEGER,
        at INTEGER NOT NULL, -- when they came, in µs since 1970-01-01 UTC, on the collector's clock
        PRIMARY KEY (device_id, stream, t, received)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE rejected (
        -- Messages that could not be taken in; only the newest are kept. See also v_rejected.
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL, -- when it came, in µs since 1970-01-01 UTC, on the collector's clock
        topic TEXT NOT NULL,
        reason TEXT NOT NULL,
        size INTEGER NOT NULL, -- bytes of the whole payload
        head BLOB NOT NULL -- its first bytes, at most 256
    )
    """,
]
