/// The tables of events, as of schema 1. Never change them: add a migration.
let eventTables = [
    """
    CREATE TABLE events (
        -- What rules have notified, each once.
        event_id INTEGER PRIMARY KEY,
        rule TEXT NOT NULL, -- name of the rule
        device_id INTEGER NOT NULL, -- 0 for the collector's machine
        t INTEGER NOT NULL, -- when it happened, in µs since 1970-01-01 UTC: the time of the sample
        at INTEGER NOT NULL, -- when it was detected, on the collector's clock
        value REAL, -- the value that completed the condition
        text TEXT NOT NULL,
        late INTEGER NOT NULL, -- 1 if the sample arrived late
        severity TEXT NOT NULL, -- of the rule: info, warning, critical
        acknowledged INTEGER, -- when a person acknowledged it
        UNIQUE (rule, device_id, t)
    )
    """,
    """
    CREATE TABLE deliveries (
        -- The notifications of events: one row for each way out.
        delivery_id INTEGER PRIMARY KEY,
        event_id INTEGER NOT NULL REFERENCES events,
        way TEXT NOT NULL, -- name of the way in the rules
        state TEXT NOT NULL, -- pending, sent, dead
        attempts INTEGER NOT NULL DEFAULT 0, -- failed attempts
        due INTEGER NOT NULL, -- time of the next attempt, or of the last one
        error TEXT -- of the last failed attempt
    )
    """,
    "CREATE INDEX deliveries_pending ON deliveries (delivery_id) WHERE state = 'pending'",
    """
    CREATE TABLE _rule_states (
        -- What each rule remembers of each device, for a restart of the collector.
        rule TEXT NOT NULL,
        device TEXT NOT NULL, -- GROUP/DEVICE, or empty for the collector's machine
        state TEXT NOT NULL, -- as JSON
        PRIMARY KEY (rule, device)
    ) WITHOUT ROWID
    """,
]
