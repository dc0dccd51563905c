CREATE TABLE capability (
    node_id   TEXT NOT NULL,
    task_type TEXT NOT NULL,
    PRIMARY KEY (node_id, task_type)
) STRICT, WITHOUT ROWID;

CREATE TABLE node (
    node_id      TEXT    NOT NULL PRIMARY KEY,
    incarnation  TEXT    NOT NULL,
    data_uuid    TEXT    NOT NULL,
    lease_ms     INTEGER NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('serving', 'draining', 'gone')),
    slots        TEXT    NOT NULL, -- JSON
    tree         TEXT    NOT NULL, -- JSON
    heartbeat_at INTEGER NOT NULL,
    started_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE setting (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE task (
    id                  TEXT    NOT NULL PRIMARY KEY,
    task_type           TEXT    NOT NULL,
    owner               TEXT    NOT NULL,
    status              TEXT    NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    priority            INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    epoch               INTEGER NOT NULL DEFAULT 0,
    attempt             INTEGER NOT NULL DEFAULT 0,
    max_attempts        INTEGER NOT NULL,
    uncharged           INTEGER NOT NULL DEFAULT 0,
    losses              INTEGER NOT NULL DEFAULT 0,
    suspect             INTEGER NOT NULL DEFAULT 0,
    life                INTEGER NOT NULL DEFAULT 0,
    dead_lettered       INTEGER NOT NULL DEFAULT 0,
    last_seq            INTEGER NOT NULL,
    recorded            INTEGER NOT NULL DEFAULT 0, -- events of the current attempt that it sent and we stored
    node_id             TEXT,
    incarnation         TEXT,
    claim_token         TEXT,
    lease_until         INTEGER,
    stage               TEXT,
    progress            REAL,
    error               TEXT,                       -- {"code","detail","kind"}
    created_at          INTEGER NOT NULL,
    not_before          INTEGER NOT NULL,           -- due since, or from
    started_at          INTEGER,                    -- of the latest attempt
    finished_at         INTEGER,
    deadline_at         INTEGER,
    timeout_ms          INTEGER,
    cancel_requested_at INTEGER,
    cancel_reason       TEXT,
    client_role         TEXT,
    idempotency_key     TEXT,
    fingerprint         TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE task_attempt (
    task_id       TEXT    NOT NULL,
    epoch         INTEGER NOT NULL,
    task_type     TEXT    NOT NULL,
    life          INTEGER NOT NULL,
    node_id       TEXT    NOT NULL,
    started_at    INTEGER NOT NULL,
    rated         INTEGER NOT NULL, -- 1: counts towards starts_per_minute
    ended_at      INTEGER,
    outcome       TEXT,
    charged       INTEGER,
    error         TEXT,             -- {"code","detail"}
    finish_token  TEXT,
    plugin_sha256 TEXT,
    PRIMARY KEY (task_id, epoch)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_attempt_rated ON task_attempt (task_type, started_at) WHERE rated = 1;

CREATE TABLE task_body (
    id               TEXT NOT NULL PRIMARY KEY,
    payload          TEXT NOT NULL,
    model_spec       TEXT NOT NULL,
    inference_params TEXT NOT NULL,
    metadata         TEXT NOT NULL,
    result           TEXT,
    checkpoint       TEXT
) STRICT;

CREATE INDEX task_dead_letter ON task (task_type, id) WHERE dead_lettered = 1;

CREATE INDEX task_deadline ON task (deadline_at) WHERE status = 'queued' AND deadline_at IS NOT NULL;

CREATE TABLE task_event (
    task_id TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    epoch   INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    data    TEXT    NOT NULL, -- JSON
    PRIMARY KEY (task_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_finished ON task (finished_at) WHERE finished_at IS NOT NULL AND dead_lettered = 0;

CREATE UNIQUE INDEX task_idempotency ON task (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX task_queued ON task (task_type, priority, not_before, id) WHERE status = 'queued' AND suspect = 0;

CREATE INDEX task_running ON task (task_type, incarnation, claim_token) WHERE status = 'running';

CREATE INDEX task_suspect ON task (task_type, priority, not_before, id) WHERE status = 'queued' AND suspect > 0;

CREATE TABLE task_type (
    task_type        TEXT    NOT NULL PRIMARY KEY,
    metadata_version INTEGER NOT NULL,
    metadata         TEXT    NOT NULL, -- JSON
    paused           INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

