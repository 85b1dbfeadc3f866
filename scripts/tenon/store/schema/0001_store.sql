-- The store of one agent. Times are UTC seconds. Text has passed redaction before it comes here.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('began', strftime('%s', 'now'));  -- transcripts older than this wait for `tenon import`

-- ---------------------------------------------------------------- where things belong

CREATE TABLE repository (
    id      INTEGER PRIMARY KEY,
    key     TEXT NOT NULL UNIQUE,                    -- host/owner/name, or path:/folder
    same_as INTEGER REFERENCES repository (id),      -- the user's alias table: this one is that one
    seen    REAL NOT NULL
);

CREATE TABLE place (                                 -- every folder ever worked in, so that a folder that is gone still has its repository
    path        TEXT PRIMARY KEY,
    repository  INTEGER NOT NULL REFERENCES repository (id),
    fingerprint TEXT NOT NULL,                       -- recognises a repository without origin that was moved; '' when there is none
    seen        REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX place_by_fingerprint ON place (fingerprint) WHERE fingerprint <> '';

-- ---------------------------------------------------------------- tier 1: the archive

CREATE TABLE session (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,                 -- the client's own id of the session
    repository INTEGER NOT NULL REFERENCES repository (id),
    folder     TEXT NOT NULL,
    branch     TEXT NOT NULL DEFAULT '',
    client     TEXT NOT NULL,                        -- who fed it: claude-code, or the name of another client
    started    REAL NOT NULL,
    last       REAL NOT NULL
);
CREATE INDEX session_by_repository ON session (repository, last);

CREATE TABLE turn (
    id         INTEGER PRIMARY KEY,
    hash       BLOB NOT NULL UNIQUE,                 -- sha256 over the parent's hash and this row: see store/archive.py
    parent     INTEGER REFERENCES turn (id),         -- NULL at the start of a session; two children are a fork or a rewind
    session    INTEGER NOT NULL REFERENCES session (id),
    repository INTEGER NOT NULL REFERENCES repository (id),
    thread     TEXT NOT NULL DEFAULT '',             -- the sub-agent's id; '' for the main conversation
    message    TEXT NOT NULL DEFAULT '',             -- the API's message id: rows of one message share it
    role       TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'system')),
    kind       TEXT NOT NULL CHECK (kind IN ('prompt', 'reply', 'thinking', 'call', 'result', 'other')),
    source     TEXT NOT NULL CHECK (source IN ('user', 'assistant', 'tool', 'outside')),
    at         REAL NOT NULL,
    tokens     INTEGER NOT NULL,                     -- estimated, all of the content
    content    TEXT NOT NULL,                        -- canonical JSON: the list of content blocks
    forgotten  REAL                                  -- when the content was blanked; NULL while it is there
);
CREATE INDEX turn_by_session ON turn (session, id);
CREATE INDEX turn_by_repository ON turn (repository, id);

CREATE TRIGGER turn_is_written_once BEFORE INSERT ON turn
WHEN EXISTS (SELECT 1 FROM turn WHERE id = NEW.id OR hash = NEW.hash)
BEGIN SELECT RAISE(ABORT, 'the archive is append-only: this turn is there already'); END;

CREATE TRIGGER turn_is_never_deleted BEFORE DELETE ON turn
BEGIN SELECT RAISE(ABORT, 'the archive is append-only: a turn is forgotten, not deleted'); END;

CREATE TRIGGER turn_is_never_changed BEFORE UPDATE ON turn
WHEN NOT (
    OLD.forgotten IS NULL AND NEW.forgotten IS NOT NULL AND NEW.content = '[]'
    AND NEW.id = OLD.id AND NEW.hash = OLD.hash AND NEW.parent IS OLD.parent AND NEW.session = OLD.session
    AND NEW.repository = OLD.repository AND NEW.thread = OLD.thread AND NEW.message = OLD.message
    AND NEW.role = OLD.role AND NEW.kind = OLD.kind AND NEW.source = OLD.source AND NEW.at = OLD.at AND NEW.tokens = OLD.tokens
)
BEGIN SELECT RAISE(ABORT, 'the archive is append-only: a turn can be forgotten and nothing else'); END;

CREATE TABLE line (                                  -- which transcript lines are archived, and as what
    uuid TEXT PRIMARY KEY,
    turn INTEGER NOT NULL REFERENCES turn (id)       -- for a line that is not kept: the nearest kept one before it
) WITHOUT ROWID;

CREATE TABLE feed (                                  -- how far each transcript has been read
    path     TEXT PRIMARY KEY,
    offset   INTEGER NOT NULL,                       -- bytes, always after a newline
    file     TEXT NOT NULL,                          -- device:inode, so that a replaced file is read from its start
    left_out INTEGER NOT NULL DEFAULT 0,             -- lines that were not JSON, too long to keep, or too much to work on
    read     REAL NOT NULL,
    before   TEXT NOT NULL DEFAULT '',               -- a hash of the bytes before offset (or skipped): another one is a file rewritten in place
    tries    INTEGER NOT NULL DEFAULT 0,             -- how often the long line at offset was begun on and not finished
    skipped  INTEGER NOT NULL DEFAULT 0              -- up to which byte the over-long line at offset was passed over; 0: not begun
) WITHOUT ROWID;

CREATE TABLE passage (                               -- the searchable pieces of a turn; rowids of turn_fts
    id         INTEGER PRIMARY KEY,
    turn       INTEGER NOT NULL REFERENCES turn (id),
    repository INTEGER NOT NULL,
    first      INTEGER NOT NULL,                     -- characters [first, last) of the turn's searchable text
    last       INTEGER NOT NULL
);
CREATE INDEX passage_by_turn ON passage (turn);

CREATE TABLE consolidated (                          -- what a digest has dealt with
    turn INTEGER PRIMARY KEY REFERENCES turn (id),
    how  TEXT NOT NULL CHECK (how IN ('written', 'skipped')),
    at   REAL NOT NULL
);

CREATE TABLE summary (                               -- one per session, rewritten
    session    INTEGER PRIMARY KEY REFERENCES session (id),
    repository INTEGER NOT NULL REFERENCES repository (id),
    text       TEXT NOT NULL,
    at         REAL NOT NULL                         -- of the newest turn it speaks of
);
CREATE INDEX summary_by_repository ON summary (repository, at);

-- ---------------------------------------------------------------- tier 2: memories

CREATE TABLE memory (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    ref         TEXT NOT NULL UNIQUE,                -- the id that people and models see; never used twice
    repository  INTEGER REFERENCES repository (id),  -- NULL: true for the agent everywhere
    tier        TEXT NOT NULL CHECK (tier IN ('short', 'long')),
    kind        TEXT NOT NULL,
    text        TEXT NOT NULL,
    reason      TEXT NOT NULL DEFAULT '',
    source      TEXT NOT NULL CHECK (source IN ('user', 'assistant', 'tool', 'outside', 'reflection')),
    labels      TEXT NOT NULL DEFAULT '[]',          -- JSON: what the writer named as evidence: PR#41, src/a.py
    epic        TEXT NOT NULL DEFAULT '',
    strength    REAL NOT NULL CHECK (strength >= 0 AND strength <= 2),
    citations   INTEGER NOT NULL DEFAULT 0,
    revision    INTEGER NOT NULL DEFAULT 1,
    status      TEXT NOT NULL DEFAULT 'live' CHECK (status IN ('live', 'faded', 'superseded')),
    successor   INTEGER REFERENCES memory (id),      -- what superseded it
    created     REAL NOT NULL,
    reinforced  REAL NOT NULL,
    decayed     REAL NOT NULL,                       -- strength is as of this time
    valid_from  REAL NOT NULL,
    valid_to    REAL
);
CREATE INDEX memory_by_repository ON memory (repository, status);

CREATE TABLE revision (                              -- every earlier text of a memory
    memory   INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    text     TEXT NOT NULL,
    reason   TEXT NOT NULL,                          -- why it was replaced
    at       REAL NOT NULL,
    PRIMARY KEY (memory, revision)
) WITHOUT ROWID;

CREATE TABLE lineage (                               -- which archived turns a memory came from
    memory INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    turn   INTEGER NOT NULL REFERENCES turn (id),
    PRIMARY KEY (memory, turn)
) WITHOUT ROWID;
CREATE INDEX lineage_by_turn ON lineage (turn);

CREATE TABLE edge (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    origin   INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    target   INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    kind     TEXT NOT NULL CHECK (kind IN ('related_to', 'contradicts', 'supports', 'supersedes', 'refines')),
    status   TEXT NOT NULL CHECK (status IN ('proposed', 'approved', 'rejected')),
    strength REAL NOT NULL DEFAULT 1.0,
    reason   TEXT NOT NULL,
    verdict  TEXT NOT NULL DEFAULT '',               -- why it was approved or rejected
    created  REAL NOT NULL,
    decided  REAL,
    decayed  REAL NOT NULL,
    UNIQUE (origin, target, kind),
    CHECK (origin <> target)
);
CREATE INDEX edge_by_target ON edge (target);

CREATE TABLE episode (
    memory     INTEGER PRIMARY KEY REFERENCES memory (id) ON DELETE CASCADE,
    situation  TEXT NOT NULL,
    action     TEXT NOT NULL,                        -- fix, merge, implement, review-feedback, migrate, investigate, other
    taken      TEXT NOT NULL,
    expected   TEXT NOT NULL CHECK (expected IN ('success', 'failure', 'partial')),
    outcome    TEXT NOT NULL CHECK (outcome IN ('success', 'failure', 'partial')),
    evidence   TEXT NOT NULL
);

CREATE TABLE procedure (
    memory    INTEGER PRIMARY KEY REFERENCES memory (id) ON DELETE CASCADE,
    name      TEXT NOT NULL,
    trigger   TEXT NOT NULL,
    steps     TEXT NOT NULL,
    paths     TEXT NOT NULL,                         -- JSON list, relative to the repository's root
    digest    TEXT NOT NULL,                         -- of those files' contents when it was last proved
    status    TEXT NOT NULL CHECK (status IN ('proposed', 'validated', 'stale', 'archived')),
    applied   INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0,
    spell     INTEGER NOT NULL DEFAULT 0             -- confirmed successes since it was last proposed or stale
);

CREATE TABLE task (
    repository INTEGER NOT NULL REFERENCES repository (id),
    epic       TEXT NOT NULL,
    title      TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('active', 'completed')),
    body       TEXT NOT NULL,                        -- JSON: plan, open_threads, touched, blockers
    created    REAL NOT NULL,
    updated    REAL NOT NULL,
    PRIMARY KEY (repository, epic)
) WITHOUT ROWID;

CREATE TABLE handoff (
    repository INTEGER PRIMARY KEY REFERENCES repository (id),
    body       TEXT NOT NULL,                        -- JSON: active_epic, last_completed_step, next_action, working_set, blockers, do_not_redo
    updated    REAL NOT NULL
);

-- ---------------------------------------------------------------- the journal

CREATE TABLE journal (                               -- what was recalled or injected, for whom, and how each hit scored
    id         INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    event      TEXT NOT NULL,                        -- prompt, session, tool, command; compact: what was shown may come again
    session    TEXT NOT NULL,                        -- the first characters of the client's id
    repository INTEGER,
    words      TEXT NOT NULL,                        -- the words that matched; never the prompt itself
    hits       TEXT NOT NULL,                        -- one line a hit: ref, then score and parts packed (store/journal.py)
    chars      INTEGER NOT NULL
);
CREATE INDEX journal_by_session ON journal (session, id);

CREATE TABLE tombstone (                             -- what was forgotten stays gone: salted hashes, no text
    hash   BLOB PRIMARY KEY,                         -- of a memory's text, of a turn with its place and time, or of words: see store/forgotten.py
    words  INTEGER NOT NULL,                         -- how many words of a text that the user named; 0 for anything else
    reason TEXT NOT NULL,
    at     REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX tombstone_named ON tombstone (words) WHERE words > 0;

CREATE TABLE deed (                                  -- an audit line without the value
    id   INTEGER PRIMARY KEY,
    at   REAL NOT NULL,
    what TEXT NOT NULL,                              -- forget, supersede, import, alias, decay, …
    ref  TEXT NOT NULL,
    note TEXT NOT NULL
);

-- ---------------------------------------------------------------- text search: rows are put in by store/index.py
-- The indexed text is folded first (base/text.py), so it is not the stored text.

CREATE VIRTUAL TABLE memory_fts USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE turn_fts USING fts5 (text, content = '', tokenize = 'porter unicode61 remove_diacritics 2');
