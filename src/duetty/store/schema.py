"""The tables, as an ordered list of migrations.

`PRAGMA user_version` counts how many of them a file has seen. A published
migration never changes; a new noun (audit, approvals) appends one.

Tokenizer: `unicode61`, which splits at everything that is not a letter or a
digit, so `src/main.py` is the phrase `src main py` and `main.py` finds it.
Punctuation is compared afterwards on the few rows found (see `search.py`).
Measured once, on bare tables, with 50,000 blocks of 2.2 kB and SQLite 3.40:

    unicode61                     3,000 blocks/s   2.2 bytes on disk per byte
    unicode61 tokenchars '-_./'   2,700 blocks/s   2.3; `main.py` does not find `src/main.py`
    trigram                         600 blocks/s   6.9; finds any three letters

Trigram misses the 1,000 blocks a second asked of the writer, and would turn
the 256 MiB of text kept by default into 1.7 GiB.
"""

_SESSIONS_BLOCKS_TOKENS = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    command TEXT NOT NULL,
    shell TEXT,
    integration TEXT,
    nonce TEXT NOT NULL,
    tags TEXT NOT NULL,
    cols INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    cwd TEXT,
    created_at_ns INTEGER NOT NULL,
    pid INTEGER,
    tty TEXT,
    exited_at_ns INTEGER,
    exit_code INTEGER,
    exit_signal INTEGER
) WITHOUT ROWID;

-- No reference to sessions: history outlives the session it was made in.
CREATE TABLE blocks (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    session_name TEXT NOT NULL,
    number INTEGER NOT NULL,
    command_line TEXT,
    cwd TEXT,
    exit_code INTEGER,
    started_at_ns INTEGER NOT NULL,
    finished_at_ns INTEGER,
    duration_ms INTEGER,
    start_offset INTEGER NOT NULL,
    end_offset INTEGER,
    actor_kind TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    state TEXT NOT NULL
);
CREATE INDEX blocks_of_session ON blocks (session_id, place);

-- What the index is made from. Apart from the facts, so that walking them does not read the
-- output; the command line is here a second time because FTS5 wants its columns in one table.
CREATE TABLE texts (
    place INTEGER PRIMARY KEY REFERENCES blocks (place) ON DELETE CASCADE,
    command_line TEXT,
    output TEXT,
    bytes INTEGER NOT NULL
);
CREATE INDEX texts_with_output ON texts (place) WHERE output IS NOT NULL;

CREATE VIRTUAL TABLE block_index USING fts5 (
    command_line, output,
    content = 'texts', content_rowid = 'place',
    tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER texts_inserted AFTER INSERT ON texts BEGIN
    INSERT INTO block_index (rowid, command_line, output)
        VALUES (new.place, new.command_line, new.output);
    UPDATE totals SET text_bytes = text_bytes + new.bytes;
END;
CREATE TRIGGER texts_updated AFTER UPDATE ON texts BEGIN
    INSERT INTO block_index (block_index, rowid, command_line, output)
        VALUES ('delete', old.place, old.command_line, old.output);
    INSERT INTO block_index (rowid, command_line, output)
        VALUES (new.place, new.command_line, new.output);
    UPDATE totals SET text_bytes = text_bytes + new.bytes - old.bytes;
END;
CREATE TRIGGER texts_deleted AFTER DELETE ON texts BEGIN
    INSERT INTO block_index (block_index, rowid, command_line, output)
        VALUES ('delete', old.place, old.command_line, old.output);
    UPDATE totals SET text_bytes = text_bytes - old.bytes;
END;

-- Kept by triggers: counting 100,000 rows after every batch would cost more than the batch.
CREATE TABLE totals (blocks INTEGER NOT NULL, text_bytes INTEGER NOT NULL);
INSERT INTO totals VALUES (0, 0);
CREATE TRIGGER blocks_inserted AFTER INSERT ON blocks BEGIN
    UPDATE totals SET blocks = blocks + 1;
END;
CREATE TRIGGER blocks_deleted AFTER DELETE ON blocks BEGIN
    UPDATE totals SET blocks = blocks - 1;
END;

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    session TEXT,
    created_at_ns INTEGER NOT NULL,
    expires_at_ns INTEGER,
    revoked_at_ns INTEGER
) WITHOUT ROWID;
"""

_BROWSERS_AND_LAST_USE = """
ALTER TABLE tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'token';
ALTER TABLE tokens ADD COLUMN last_used_at_ns INTEGER;
"""

_APPROVALS_TRAIL_SANDBOX = """
ALTER TABLE sessions ADD COLUMN sandbox TEXT NOT NULL DEFAULT 'none';

-- One JSON value each: they are found in memory, and read here at start and for lists.
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    asked_at_ns INTEGER NOT NULL,
    record TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX approvals_by_time ON approvals (asked_at_ns);

CREATE TABLE standing_approvals (
    id TEXT PRIMARY KEY,
    created_at_ns INTEGER NOT NULL,
    revoked_at_ns INTEGER,
    record TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE trail (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    first_seq INTEGER NOT NULL,
    head_seq INTEGER NOT NULL,
    head_hash TEXT NOT NULL
);
"""

_OWNERS = """
ALTER TABLE sessions ADD COLUMN owner TEXT;
"""

_WORKSPACES = """
ALTER TABLE sessions ADD COLUMN workspace TEXT;
ALTER TABLE sessions ADD COLUMN network INTEGER NOT NULL DEFAULT 1;
"""

_PAGE_KEYS = """
ALTER TABLE tokens ADD COLUMN key TEXT;

-- How often this file was written: see count.py.
CREATE TABLE written (batches INTEGER NOT NULL);
INSERT INTO written VALUES (0);
"""

_BOUNDS = """
ALTER TABLE sessions ADD COLUMN bounds TEXT;
"""

_CONVERSATIONS = """
CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    created_at_ns INTEGER NOT NULL,
    record TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE conversation_entries (
    conversation TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at_ns INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    raw TEXT,
    PRIMARY KEY (conversation, seq)
) WITHOUT ROWID;
"""

_USERS = """
ALTER TABLE tokens ADD COLUMN user TEXT;
"""

_KEPT_NAMES = """
ALTER TABLE sessions ADD COLUMN keeps_name INTEGER NOT NULL DEFAULT 0;
"""

MIGRATIONS: tuple[str, ...] = (
    _SESSIONS_BLOCKS_TOKENS,
    _BROWSERS_AND_LAST_USE,
    _APPROVALS_TRAIL_SANDBOX,
    _OWNERS,
    _WORKSPACES,
    _PAGE_KEYS,
    _BOUNDS,
    _CONVERSATIONS,
    _USERS,
    _KEPT_NAMES,
)
